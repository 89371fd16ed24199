"""The doors of this package: from bytes, or from the chunks of a stream, to a reading."""

from collections.abc import Sequence

from app.capture import documents, envelope, events, streams
from app.capture.asked import Asked, Form
from app.capture.documents import Malformed
from app.capture.flags import Flag
from app.capture.judge import judge
from app.capture.losses import loss_flags
from app.capture.reading import Reading, malformed

PARSER_VERSION: int = 3  # stored with each reading; grows whenever any body would be read differently


def read_body(http_status: int | None, body: bytes, asked: Asked) -> Reading:
    """What the body says. Never raises: a body that is no answer is a `malformed` reading with the reason as its flag.

    `http_status` is None for an imported row, whose status nobody kept.
    """
    try:
        envelope.check_status(http_status)
        return _read(opened(body, asked.form), asked)
    except Malformed as reason:
        return malformed(reason.flag)


def read_chunks(http_status: int | None, chunks: Sequence[object], asked: Asked) -> Reading:
    """The same for a stream whose chunks are already values."""
    try:
        envelope.check_status(http_status)
        return _read(streams.join(chunks), asked)
    except Malformed as reason:
        return malformed(reason.flag)


def content_of(body: bytes, form: Form) -> str | None:
    """`message.content` as the server sent it, of the choice that a reading speaks of; None where there is none."""
    try:
        return envelope.open_body(opened(body, form)).choices[0].message.content
    except Malformed:
        return None


def opened(body: bytes, form: Form) -> object:
    """A body as a value; Malformed where it is none."""
    # A server that knows no streaming answers with a plain body; no event stream starts with a brace.
    if form == Form.SSE and not body.lstrip().startswith(b"{"):
        return streams.join(events.chunks(body))
    value = documents.parse(documents.decode(body))
    if form == Form.SPECFORGE:
        return envelope.body_of_regenerated(value)
    return envelope.body_of_row(value) if form == Form.RAW_RESPONSES else value


def _read(body: object, asked: Asked) -> Reading:
    outer = envelope.open_body(body)
    choices = tuple(judge(choice, outer.usage, asked) for choice in outer.choices)
    row = choices[0]
    several = frozenset({Flag.MULTIPLE_CHOICES}) if len(choices) > 1 else frozenset[Flag]()
    return Reading(
        verdict=row.verdict,
        flags=row.flags | several,
        reasoning=row.reasoning,
        content=row.content,
        tool_calls=row.tool_calls,
        finish_reason=row.finish_reason,
        usage=outer.usage,
        parts=row.parts,
        choices=choices,
        found=row.found,
        model=outer.model,
        weight_version=outer.weight_version,
        token_ids=outer.token_ids,
        prompt_token_ids=outer.prompt_token_ids,
        loss_flags=loss_flags(outer, row),
    )
