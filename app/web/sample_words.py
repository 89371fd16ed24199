"""One sample as ready words for its template. Stored text is cut at 64 KiB with a word about it, never in silence."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from app.model.verdicts import CAPTURED
from app.progress import wording
from app.progress.attempts import Attempt
from app.progress.excerpt import SHOWN, excerpt
from app.progress.filters import Listing
from app.progress.reassembly import Joined
from app.progress.sample import SampleView
from app.progress.samples import Neighbour
from app.progress.turns import TurnView
from app.web.marks import Mark, job_mark, verdict_mark
from app.web.site import Site

EVERYTHING = 2**62
PARTS = ("raw", "reasoning", "content")
_CONTENT = re.compile(r'"content"\s*:\s*"')


class Whole(StrEnum):
    """What can be shown to its end."""

    RAW = "raw"
    REASONING = "reasoning"
    CONTENT = "content"
    PROMPT = "prompt"


@dataclass(frozen=True, slots=True)
class Pane:
    """One column of an answer. `before`, `tag`, `after` joined are what is shown of it."""

    key: str
    place: int
    before: str
    tag: str | None
    after: str
    size: str
    cut: str | None
    show_all: str | None
    download: str
    missing: str | None  # why there is no text


@dataclass(frozen=True, slots=True)
class Said:
    """One message of the prompt."""

    role: str
    text: str
    cut: str | None


@dataclass(frozen=True, slots=True)
class AttemptLine:
    """One attempt of the job."""

    key: str
    number: str
    href: str | None
    shown: bool
    leased: str
    sent: str
    ended: str
    http: str
    standing: str
    verdict: Mark | None
    note: str
    raw: str | None


@dataclass(frozen=True, slots=True)
class TurnLine:
    """One turn of a conversation."""

    key: str
    number: str
    href: str | None
    shown: bool
    history: str  # how what it was asked after differs from what is read now; empty: in nothing
    read_then: tuple[Said, ...]  # the answers before it, as they were sent, that are read otherwise now
    asked: tuple[Said, ...]
    verdict: Mark | None
    answer: Said | None
    missing: str


@dataclass(frozen=True, slots=True)
class SampleWords:
    """All that the templates of a sample place."""

    sample_id: str
    dataset: str
    state: Mark
    verdict: Mark | None
    flags: str
    facts: tuple[tuple[str, str], ...]
    prompt: tuple[Said, ...]
    turns: tuple[TurnLine, ...]
    panes: tuple[Pane, ...]
    check: Mark
    attempts: tuple[AttemptLine, ...]
    details: tuple[tuple[str, str], ...]
    previous: str | None
    next: str | None
    up: str
    permalink: str


@dataclass(frozen=True, slots=True)
class Shown:
    """How a sample was asked for."""

    name: str
    replica: int
    attempt: int | None
    whole: tuple[str, ...]  # the parts that are shown to their end
    listing: Listing
    turn: int | None = None  # of a conversation

    @property
    def which(self) -> dict[str, int | None]:
        """Which answer is shown, as a query says it."""
        return {"attempt": self.attempt, "turn": self.turn}


def sample_words(site: Site, view: SampleView, asked: Shown) -> SampleWords:
    """The page of a sample."""
    shown, words = view.shown, asked.listing.words()
    reading = None if shown is None else shown.reading
    return SampleWords(
        sample_id=view.line.sample_id,
        dataset=asked.name,
        state=job_mark(view.line.state),
        verdict=None if reading is None else verdict_mark(reading.verdict),
        flags="" if reading is None else " ".join(reading.flags + reading.loss_flags),
        facts=tuple(_facts(view)),
        prompt=() if view.turns else tuple(_message(one, "prompt" in asked.whole) for one in view.messages),
        turns=tuple(_turn(site, view, one, asked) for one in view.turns),
        panes=tuple(_panes(site, view, asked)),
        check=check_mark(view),
        attempts=tuple(_attempt(site, view, one, asked) for one in view.attempts),
        details=tuple(_details(view)),
        previous=_neighbour(site, asked, view.neighbours.previous),
        next=_neighbour(site, asked, view.neighbours.next),
        up=site.dataset_url(asked.name, "/samples", **words),
        permalink=site.sample_url(asked.name, view.line.sample_id, asked.replica),
    )


def check_mark(view: SampleView) -> Mark:
    """The reassembly check in words."""
    found = view.reassembly
    if found is None:
        return Mark("quiet", "-", "no stored answer yet")
    match found.joined:
        case Joined.EXACT:
            return Mark("good", "\N{CHECK MARK}", "the parts joined equal the server's text, byte for byte")
        case Joined.DIFFERS:
            at = "" if found.differs_at is None else f" at character {found.differs_at:,}"
            return Mark("bad", "\N{BALLOT X}", f"the parts joined differ from the server's text{at}")
        case Joined.BY_SERVER:
            return Mark("quiet", "-", "split by the server, exactness unknown")
        case Joined.NOTHING:
            return Mark("quiet", "-", "nothing was split")


def _neighbour(site: Site, asked: Shown, found: Neighbour | None) -> str | None:
    words = asked.listing.words()
    return None if found is None else site.sample_url(asked.name, found.sample_id, found.replica, **words)


def _facts(view: SampleView) -> Iterator[tuple[str, str]]:
    line = view.line
    yield "finish reason", "-" if line.finish_reason is None else line.finish_reason
    yield "tokens", "-" if line.completion_tokens is None else f"{line.completion_tokens:,}"
    yield "latency", "-" if line.latency_ms is None else f"{line.latency_ms / 1000:,.1f} s"
    yield "attempt", f"{line.attempt}, {line.tries} tries counted"
    if view.turns:
        yield "turns", f"{sum(one.response is not None for one in view.turns):,} of {view.turns_asked:,} answered"
    if view.seed is not None:
        yield "seed", str(view.seed)
    yield "row", f"{view.source_row:,} of its file"


def _message(message: dict[str, object], whole: bool) -> Said:
    content = message.get("content")
    text = content if isinstance(content, str) else json.dumps(content, ensure_ascii=False)
    if message.get("tool_calls"):
        text += "\n" + json.dumps(message["tool_calls"], ensure_ascii=False, indent=1)
    found = excerpt(text, EVERYTHING if whole else SHOWN)
    return Said(str(message.get("role")), found.text, _cut(found.shown_bytes, found.bytes, found.cut))


def _turn(site: Site, view: SampleView, one: TurnView, asked: Shown) -> TurnLine:
    """A turn with its words, long ones cut; its answer is a link to the panes, which show all of it."""
    answer = next((known for known in view.answers if known.id == one.response), None)
    words = asked.listing.words()
    line, whole = view.line, "prompt" in asked.whole
    message = None if one.content is None else _message({"role": "assistant", "content": one.content}, whole)
    reading = None if answer is None else answer.reading
    return TurnLine(
        key=f"turn-{one.turn}",
        number=f"Turn {one.turn}",
        href=None
        if answer is None
        else site.sample_url(asked.name, line.sample_id, asked.replica, turn=one.turn, **words),
        shown=view.shown is not None and one.response == view.shown.id,
        history=_history(one),
        read_then=tuple(_message({**said, "role": f"turn {turn}"}, whole) for turn, said in one.read_then),
        asked=tuple(_message(said, whole) for said in one.asked),
        verdict=None if reading is None else verdict_mark(reading.verdict),
        answer=message,
        missing=f"not answered yet; the job is {line.state}",
    )


def _history(one: TurnView) -> str:
    if not one.as_known:
        return "asked after something else than any reading of the answers before it"
    return "asked after these texts of answers that are read otherwise now:" if one.read_then else ""


def _panes(site: Site, view: SampleView, asked: Shown) -> Iterator[Pane]:
    texts = view.texts
    by_key = {"raw": None, "reasoning": None, "content": None} if texts is None else {
        "raw": texts.raw, "reasoning": texts.reasoning, "content": texts.content,
    }  # fmt: skip
    for place, (key, text) in enumerate(by_key.items(), 1):
        yield _pane(site, view, asked, place, key, text)


def _pane(site: Site, view: SampleView, asked: Shown, place: int, key: str, text: str | bytes | None) -> Pane:
    query = {**asked.which, **asked.listing.words()}
    found = excerpt("" if text is None else text, EVERYTHING if key in asked.whole else SHOWN)
    before, tag, after = _marked(found.text, view) if key == "raw" else (found.text, None, "")
    download = {"id": view.line.sample_id, "replica": asked.replica, **asked.which, "part": key}
    everything = ",".join(dict.fromkeys([*asked.whole, key]))
    whole = site.sample_url(asked.name, view.line.sample_id, asked.replica, **query, whole=everything)
    return Pane(
        key=key,
        place=place,
        before=before,
        tag=tag,
        after=after,
        size=wording.size(found.bytes),
        cut=_cut(found.shown_bytes, found.bytes, found.cut),
        show_all=f"{whole}#pane-{key}" if found.cut else None,
        download=site.dataset_url(asked.name, "/part", **download),
        missing=_missing(view, key) if text is None else None if found.bytes else "found, and empty",
    )


def _missing(view: SampleView, key: str) -> str:
    return f"no stored answer yet; the job is {view.line.state}" if view.texts is None else f"no {key} was found"


def _cut(shown: int, whole: int, cut: bool) -> str | None:
    return f"{wording.size(shown)} of {wording.size(whole)} shown" if cut else None


def _marked(shown: str, view: SampleView) -> tuple[str, str | None, str]:
    """Where the tag that was split at stands in the body. JSON may have escaped it; a stream may have cut it."""
    found, texts = view.reassembly, view.texts
    if found is None or texts is None or not found.tag:
        return shown, None, ""
    if found.raw_tag_at is not None:
        at = len(texts.raw[: found.raw_tag_at].decode("utf-8", "backslashreplace"))
        end = at + len(found.tag)
        return (shown[:at], shown[at:end], shown[end:]) if end <= len(shown) else (shown, None, "")
    start = _CONTENT.search(shown)
    mentions = 0 if texts.reasoning is None else texts.reasoning.count(found.tag)  # within the thought: they come first
    for place, hit in enumerate(_as_sent(found.tag).finditer(shown, start.end() if start else 0)):
        if place == mentions:
            return shown[: hit.start()], hit.group(), shown[hit.end() :]
    return shown, None, ""


def _as_sent(tag: str) -> re.Pattern[str]:
    """A text in every form that JSON has for it."""
    forms = (rf"(?:\\?{re.escape(sign)}|\\u{ord(sign):04x}|\\u{ord(sign):04X})" for sign in tag)
    return re.compile("".join(forms))


def _attempt(site: Site, view: SampleView, one: Attempt, asked: Shown) -> AttemptLine:
    stored = one.response is not None
    words = asked.listing.words()
    line = view.line
    turn = one.turn if view.turns else None
    which: dict[str, object] = {"attempt": one.attempt, "turn": turn if stored else None}
    href = site.sample_url(asked.name, line.sample_id, asked.replica, **which, **words) if stored else None
    raw = {"id": line.sample_id, "replica": asked.replica, **which, "part": "raw"}
    return AttemptLine(
        key=f"attempt-{one.attempt}-{one.turn}",
        number=f"{one.attempt}" if turn is None else f"{one.attempt}, turn {turn}",
        href=href,
        shown=view.shown is not None and one.response == view.shown.id,
        leased=_moment(one.leased_ms),
        sent=_moment(one.sent_ms),
        ended=_moment(one.ended_ms),
        http="-" if one.http_status is None else str(one.http_status),
        standing="failed" if one.standing is None else one.standing,
        verdict=None if one.verdict is None else verdict_mark(one.verdict),
        note=_note(one),
        raw=site.dataset_url(asked.name, "/part", **raw) if stored or one.body_bytes else None,
    )


def _note(one: Attempt) -> str:
    said = [word for word in (one.cause, one.message) if word]
    said += ["counted as a try"] if one.counted else []
    said += [f"{wording.size(one.body_bytes)} of body"] if one.body_bytes else []
    return ", ".join(said)


def _moment(at_ms: int | None) -> str:
    return "-" if at_ms is None else wording.moment(at_ms)


def _details(view: SampleView) -> Iterator[tuple[str, str]]:
    shown = view.shown
    if shown is not None:
        reading = shown.reading
        how = "not read yet" if reading is None else f"parser {reading.parser_version}"
        if reading is not None and reading.verdict in CAPTURED:
            how += ", split here" if reading.split else ", split by the server"
        yield "reading", how
        yield "usage", "-" if reading is None or reading.usage is None else reading.usage
        yield "request", "-" if shown.request is None else shown.request
        yield "endpoint", "-" if shown.base_url is None else f"{shown.base_url}  {shown.model}"
        yield "fingerprint", "-" if shown.fingerprint is None else shown.fingerprint
        yield "body", f"{shown.raw_bytes:,} bytes, sha256 {shown.raw_sha256}"
    if view.params:
        yield "row settings", json.dumps(view.params, ensure_ascii=False)
    if view.tools:
        yield "tools", excerpt(json.dumps(view.tools, ensure_ascii=False), 4096).text
