"""Who may come in: the token, the one-time code of the login address, and the session that either of them opens."""

import hashlib
import hmac
import secrets
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum, auto

SESSION_MS = 30 * 24 * 3_600_000
FAILURES_A_MINUTE = 5
MINUTE_MS = 60_000


class Knock(Enum):
    """What came of an attempt to log in."""

    OPEN = auto()
    WRONG = auto()
    TOO_OFTEN = auto()


@dataclass(slots=True)
class Door:
    """Opens for a token. Sessions are signed with it, so that they outlive a restart and end with a new token."""

    token: str
    cookie: str  # its name: cookies do not tell ports apart, so two dashboards on one machine need two names
    now_ms: Callable[[], int]
    code: str | None = field(default_factory=lambda: secrets.token_urlsafe(32))  # good for one login
    _failures: deque[int] = field(default_factory=deque)

    def knock(self, secret: str) -> Knock:
        """Try a token or the one-time code. After five failures in a minute nobody is let in for the rest of it."""
        now_ms = self.now_ms()
        while self._failures and self._failures[0] <= now_ms - MINUTE_MS:
            self._failures.popleft()
        if len(self._failures) >= FAILURES_A_MINUTE:
            return Knock.TOO_OFTEN
        if self.code is not None and same(secret, self.code):
            self.code = None
            return Knock.OPEN
        if same(secret, self.token):
            return Knock.OPEN
        self._failures.append(now_ms)
        return Knock.WRONG

    def session(self) -> str:
        """The value of a new session cookie."""
        until = str(self.now_ms() + SESSION_MS)
        return f"{until}.{self._sign(until)}"

    def admits(self, cookies: str | None, authorization: str | None) -> bool:
        """Whether a request carries a session of ours, or the token itself."""
        scheme, _, bearer = (authorization or "").partition(" ")
        if scheme.lower() == "bearer" and same(bearer.strip(), self.token):
            return True
        return any(self._is_session(value) for name, value in _pairs(cookies or "") if name == self.cookie)

    def _is_session(self, value: str) -> bool:
        until, _, signature = value.partition(".")
        signed = same(signature, self._sign(until))
        return signed and until.isdigit() and int(until) > self.now_ms()

    def _sign(self, until: str) -> str:
        return hmac.new(self.token.encode(), f"session {until}".encode(), hashlib.sha256).hexdigest()


def same(one: str, other: str) -> bool:
    """Compare in constant time, whatever the texts hold."""
    return secrets.compare_digest(_digest(one), _digest(other))


def _digest(text: str) -> bytes:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()


def _pairs(cookies: str) -> list[tuple[str, str]]:
    parts = [part.strip().partition("=") for part in cookies.split(";")]
    return [(name, value) for name, _, value in parts]
