"""Step 5a: gpt-oss writes messages on channels. Only the raw body is an exact copy, so there are no parts."""

import re
from collections.abc import Iterator

from app.capture.fields import is_blank
from app.capture.flags import Flag
from app.capture.outcome import Facts, Outcome
from app.capture.tools import has_markup
from app.model.verdicts import Verdict

_TOKEN = re.compile(r"<\|(start|channel|message|end|return|call)\|>")
# The same with its special tokens deleted: `analysis`...`assistantfinal`... (NVIDIA/TensorRT-LLM#10143).
_STRIPPED = re.compile(r"assistant(analysis|commentary|final)")

_Messages = dict[str, list[str]]


def read_channels(text: str, facts: Facts) -> Outcome:
    """Judge a harmony answer: `analysis` is the thought, `final` the answer, `commentary` neither."""
    messages, flags = _open(text)
    if not messages:
        return Outcome(facts.missing_or_none, None, text)
    reasoning, content = _joined(messages, "analysis"), _joined(messages, "final")
    if not facts.expected and not is_blank(reasoning):
        flags |= {Flag.UNEXPECTED_REASONING}
    if has_markup(reasoning):
        flags |= {Flag.TOOL_MARKUP_IN_REASONING}
    return Outcome(_verdict(reasoning, content, facts), reasoning, content, flags)


def _verdict(reasoning: str | None, content: str | None, facts: Facts) -> Verdict:
    if not is_blank(reasoning) and (not facts.expected or has_markup(reasoning)):
        return Verdict.LEAKED
    if content is None:
        return facts.truncated_or_leaked
    return facts.missing_or_none if is_blank(reasoning) else Verdict.SPLIT_FROM_CONTENT


def _joined(messages: _Messages, channel: str) -> str | None:
    return "".join(messages[channel]) if channel in messages else None


def _open(text: str) -> tuple[_Messages, frozenset[Flag]]:
    messages = _messages(_tagged(text))
    if messages or not text.lstrip().startswith("analysis"):
        return messages, frozenset()
    return _messages(_stripped(text.lstrip())), frozenset({Flag.SPECIALS_STRIPPED})


def _messages(pairs: Iterator[tuple[str, str]]) -> _Messages:
    messages: _Messages = {}
    for channel, body in pairs:
        messages.setdefault(channel, []).append(body)
    return messages


def _tagged(text: str) -> Iterator[tuple[str, str]]:
    """Channel and text of each message; a header may go on behind the channel's name (`commentary to=...`)."""
    pieces = _TOKEN.split(text)  # text, token, text, token, text ...
    channel = ""
    for token, piece in zip(pieces[1::2], pieces[2::2], strict=True):
        if token == "channel":  # noqa: S105 - a name of the format, not a secret
            channel = piece.split(maxsplit=1)[0] if piece.strip() else ""
        elif token == "message" and channel:  # noqa: S105
            yield channel, piece
        else:
            channel = ""


def _stripped(text: str) -> Iterator[tuple[str, str]]:
    pieces = _STRIPPED.split(f"assistant{text}")  # nothing, channel, text, channel, text ...
    return zip(pieces[1::2], pieces[2::2], strict=True)
