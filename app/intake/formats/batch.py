"""Request lines of batch files: `{"custom_id", "method", "url", "body"}`."""

from dataclasses import replace
from urllib.parse import urlsplit

from app.intake.draft import Draft
from app.intake.formats.chat import read_messages
from app.intake.refusal import RowRefused
from app.intake.strict_json import Json
from app.model.config import RESERVED

Row = dict[str, Json]


def read_request(row: Row) -> Draft:
    """The prompt of `body`; its other keys are settings of this row alone.

    What the tool sets itself goes: a batch file names the model that it was made for, and the dataset's is asked.
    """
    url = row["url"]
    if not isinstance(url, str) or not urlsplit(url).path.rstrip("/").endswith("/chat/completions"):
        raise RowRefused(f"unsupported_url:{url}")
    body = row["body"]
    if not isinstance(body, dict) or "messages" not in body:
        raise RowRefused("unknown_format", "the body has no messages")
    settings: Row = {key: value for key, value in body.items() if key not in RESERVED and value is not None}
    return replace(read_messages(body), settings=settings)
