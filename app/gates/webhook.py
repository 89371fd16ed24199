"""A server elsewhere that is told of alarms: where it is, and one POST to it.

Its address comes from the environment alone, as other secrets do: whoever knows it can write there.
"""

import http.client
import socket
import ssl
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeGuard
from urllib.parse import urlsplit

from app.model.errors import UsageError

URL = "THINKLEDGER_WEBHOOK_URL"
TOKEN = "THINKLEDGER_WEBHOOK_TOKEN"  # noqa: S105 - the name of a variable
TIMEOUT_S = 10.0


@dataclass(frozen=True, slots=True)
class Webhook:
    """Where alarms are sent."""

    secure: bool
    host: str
    port: int | None
    target: str = field(repr=False)  # path and query: they often are the secret
    token: str | None = field(default=None, repr=False)

    @property
    def secrets(self) -> tuple[str, ...]:
        """What no log may hold. A path of a few letters is no secret, and would be found in every line."""
        return tuple(one for one in (self.target, self.token) if one is not None and len(one) > len("/webhook"))


def webhook_of(environ: Mapping[str, str]) -> Webhook | None:
    """The webhook of the environment; None where there is none."""
    said = environ.get(URL)
    if not said:
        return None
    try:
        parts = urlsplit(said)
        host, port = parts.hostname, parts.port
    except ValueError:
        host, port = None, None
    if not _is_plain(said) or not _is_host(host) or parts.scheme not in ("http", "https") or "@" in parts.netloc:
        raise UsageError(f"{URL} is no address. It looks like https://alerts.example/path; a key goes into {TOKEN}.")
    target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    token = environ.get(TOKEN) or None
    if token is not None and not _is_plain(token):
        raise UsageError(
            f"{TOKEN} holds a space, a line end or a letter outside ASCII, which no request can carry. "
            "Give the token alone; one read from a file often ends with a line end."
        )
    return Webhook(parts.scheme == "https", host, port, target, token)


def _is_plain(text: str) -> bool:
    return text.isascii() and text.isprintable() and " " not in text


def _is_host(name: str | None) -> TypeGuard[str]:
    """Whether it can be looked up at all, as the standard library does it: a label too long or empty is an error."""
    if name is None:
        return False
    try:
        return bool(name.encode("idna"))
    except UnicodeError:
        return False


def post(webhook: Webhook, body: bytes, key: str) -> str | None:
    """Send one message; None where it was taken, else why not, in words that hold no part of the address.

    No redirect is followed and no proxy of the environment is used. What the server answers is not read. A request
    that cannot be written (ValueError; its words may repeat the token) is a failure as any other.
    """
    headers = {"Content-Type": "application/json", "User-Agent": "thinkledger", "Idempotency-Key": key}
    if webhook.token is not None:
        headers["Authorization"] = f"Bearer {webhook.token}"
    connection = _connection(webhook)
    try:
        connection.request("POST", webhook.target, body, headers)
        status = connection.getresponse().status
    except (OSError, http.client.HTTPException, ValueError) as error:
        return _words(error)
    finally:
        connection.close()
    return None if 200 <= status < 300 else f"HTTP status {status}"


def _connection(webhook: Webhook) -> http.client.HTTPConnection:
    if webhook.secure:
        trust = ssl.create_default_context()
        return http.client.HTTPSConnection(webhook.host, webhook.port, timeout=TIMEOUT_S, context=trust)
    return http.client.HTTPConnection(webhook.host, webhook.port, timeout=TIMEOUT_S)


def _words(error: Exception) -> str:
    if isinstance(error, TimeoutError):
        return "no answer in time"
    if isinstance(error, socket.gaierror | ssl.SSLError | ConnectionError):
        return f"{type(error).__name__}: {error.strerror or 'the connection broke'}"
    return type(error).__name__
