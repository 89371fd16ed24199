"""What a route answers with."""

import secrets
from typing import Any
from urllib.parse import quote

import msgspec
from litestar import MediaType, Request, Response

Asked = Request[Any, Any, Any]
Answer = Response[bytes]


def html(body: bytes, *, status: int = 200, headers: dict[str, str] | None = None) -> Answer:
    """A page, or a part of one."""
    return Response(content=body, status_code=status, headers=headers, media_type=MediaType.HTML)


def redirect(to: str, headers: dict[str, str] | None = None) -> Answer:
    """Go there by GET."""
    return html(b"", status=303, headers={"location": to} | (headers or {}))


def json_response(value: Any, *, status: int = 200, kind: str = "application/json") -> Answer:
    """A JSON twin."""
    return json_bytes(msgspec.json.encode(value), status=status, kind=kind)


def json_bytes(body: bytes, *, status: int = 200, kind: str = "application/json") -> Answer:
    """JSON that is written already."""
    return Response(content=body, status_code=status, media_type=kind)


def text_bytes(body: bytes, kind: str) -> Answer:
    """Text that is written already."""
    return Response(content=body, media_type=kind)


def attachment(body: bytes, name: str, kind: str = "application/octet-stream") -> Answer:
    """A download: no browser shows it as a page of ours, whatever it holds."""
    return Response(content=body, media_type=kind, headers={"content-disposition": disposition(name)})


def disposition(name: str) -> str:
    """The header that makes a download of an answer; the name is made harmless."""
    plain = "".join(letter if letter.isascii() and (letter.isalnum() or letter in "._-") else "_" for letter in name)
    plain = plain.lstrip(".")[:120] or "file"
    return f"attachment; filename=\"{plain}\"; filename*=UTF-8''{quote(name[:120], safe='')}"


def error_number() -> str:
    """What a person is told of an error, and what the log holds beside its reason."""
    return secrets.token_hex(4)
