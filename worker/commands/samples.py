"""`thinkledger samples` and `thinkledger sample`: lists of samples, and one with everything that is stored about it."""

import json
import sys
from collections.abc import Iterable, Iterator
from enum import StrEnum
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

import typer

from app.model.errors import NotFound, Refused, UsageError
from worker import cli_context, layout

if TYPE_CHECKING:
    from app.progress.sample import Answer, FailedAttempt, SampleView, Texts
    from app.progress.samples import SampleLine


RAW_SHOWN = 600  # bytes of the body beside everything else: token ids fill most of it


class Part(StrEnum):
    """What of a sample is shown."""

    RAW = "raw"
    REASONING = "reasoning"
    CONTENT = "content"
    PROMPT = "prompt"
    ALL = "all"


def register(app: typer.Typer) -> None:
    app.command("samples", help="List the samples of a dataset, filtered, page by page.")(samples)
    app.command("sample", help="Show one sample: prompt, raw body, reasoning, content and every attempt.")(sample)


def samples(
    ctx: typer.Context,
    name: Annotated[str, typer.Argument(metavar="NAME", help="The dataset.")],
    state: Annotated[str | None, typer.Option(help="Only jobs in this state.")] = None,
    verdict: Annotated[str | None, typer.Option(help="Only answers with this verdict.")] = None,
    finish: Annotated[str | None, typer.Option(help="Only answers with this finish reason.")] = None,
    cause: Annotated[str | None, typer.Option(help="Only jobs whose latest failure has this cause.")] = None,
    found: Annotated[
        str | None, typer.Option(help="Only answers with their reasoning in field, tag, both or neither.")
    ] = None,
    flag: Annotated[
        str | None, typer.Option(help="Only answers that hint at lost text: text_short_for_tokens or cut_upstream.")
    ] = None,
    q: Annotated[str | None, typer.Option("--q", help="Only sample ids that begin so.")] = None,
    min_reasoning: Annotated[int | None, typer.Option(help="At least so many characters of reasoning.")] = None,
    max_reasoning: Annotated[int | None, typer.Option(help="At most so many.")] = None,
    attempt_gt: Annotated[int | None, typer.Option(help="Only jobs with more attempts.")] = None,
    since: Annotated[
        str | None,
        typer.Option(metavar="TIME", help="Finished then or later: 2026-03-01T14:02 (UTC), or ms since 1970."),
    ] = None,
    until: Annotated[str | None, typer.Option(metavar="TIME", help="Finished before then.")] = None,
    worker: Annotated[int | None, typer.Option(metavar="ID", help="Leased or answered by this worker.")] = None,
    sort: Annotated[
        str | None, typer.Option(help="order, id, newest, oldest, longest or shortest.", show_default=False)
    ] = None,
    limit: Annotated[int, typer.Option(help="Lines on this page, 500 at most.")] = 50,
    after: Annotated[str | None, typer.Option(metavar="PLACE", help="Go on after the place a page ended with.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object.")] = False,
    as_jsonl: Annotated[bool, typer.Option("--jsonl", help="One JSON object a line.")] = False,
) -> None:
    """Print one page of a list."""
    settings = cli_context.context(ctx)

    async def command() -> None:
        from app.progress.filters import parse
        from app.progress.samples import samples as list_samples
        from app.progress.samples_json import line_json, page_json
        from app.store.store import open_store

        said = {
            "state": state, "verdict": verdict, "finish": finish, "cause": cause, "found": found,
            "flag": flag, "q": q,
            "min_reasoning": min_reasoning, "max_reasoning": max_reasoning, "attempt_gt": attempt_gt, "since": since,
            "until": until, "worker": worker, "sort": sort, "after": after, "per": limit,
        }  # fmt: skip
        listing = parse({key: str(value) for key, value in said.items() if value is not None})
        async with open_store(settings.db) as store:
            page = await list_samples(store, name, listing)
        if as_json:
            cli_context.put_json(page_json(page))
            return
        width = layout.columns()
        for line in page.lines:
            if as_jsonl:
                cli_context.put(json.dumps(line_json(line), ensure_ascii=False))
            else:
                cli_context.put("\n".join(_listed(line, width)))
        if not page.lines:
            cli_context.say("No sample matches." if page.searched_all else "No sample matches so far.")
        if page.after is not None:
            cli_context.say(f"More: --after {page.after}")

    cli_context.run(command)


def _listed(line: "SampleLine", width: int | None) -> Iterator[str]:
    """One line a sample where there is room for the columns, else its facts and what it says on lines of their own."""
    from app.progress.display import one_line

    replica = f"#{line.replica}" if line.replica else ""
    facts = line.verdict if line.state == "done" else line.cause
    sizes = f"{_count(line.reasoning_chars)} + {_count(line.content_chars)} chars" if line.verdict else ""
    name, preview = f"{one_line(line.sample_id)}{replica}", one_line(line.preview or "")
    finish = one_line(line.finish_reason or "-")
    hints = " ".join(line.loss_flags)
    columns = f"{name:24}  {line.state:9}  {facts or '-':18}  {finish:10}  {sizes:22}  "
    columns += f"{hints}  " if hints else ""
    if width is None or len(columns) + 20 <= width:
        yield f"{columns}{preview[: 60 if width is None else width - len(columns)]}".rstrip()
        return
    yield from layout.facts(
        [part for part in (name, line.state, facts, finish, sizes, hints) if part], width, "", "    "
    )
    if preview:
        yield f"    {preview if len(preview) + 4 <= width else preview[: width - 7] + '...'}"


def _count(number: int | None) -> str:
    return "-" if number is None else f"{number:,}"


def sample(
    ctx: typer.Context,
    name: Annotated[str, typer.Argument(metavar="NAME", help="The dataset.")],
    sample_id: Annotated[str, typer.Argument(metavar="ID", help="The sample's id.")],
    part: Annotated[Part, typer.Option(help="What to show.")] = Part.ALL,
    attempt: Annotated[int | None, typer.Option(help="The body of this attempt instead of the accepted one.")] = None,
    replica: Annotated[int, typer.Option(help="Which of several answers to one sample.")] = 0,
    turn: Annotated[
        int | None, typer.Option(min=0, help="Of a conversation: the answer at this turn, counted from 0.")
    ] = None,
    raw: Annotated[bool, typer.Option("--raw", help="The exact bytes of the part, nothing around them.")] = False,
    force: Annotated[bool, typer.Option("--force", help="Let --raw write to a terminal.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object.")] = False,
) -> None:
    """Print one sample; stored text is made safe for a terminal unless its exact bytes are asked for."""
    settings = cli_context.context(ctx)
    if raw:
        _refuse_raw(part, force=force)

    async def command() -> None:
        from app.progress.sample import sample as find_sample
        from app.progress.samples_json import sample_json
        from app.store.store import open_store

        async with open_store(settings.db) as store:
            find = partial(find_sample, store, name, attempt=attempt, turn=turn)
            try:
                view = await find(sample_id, replica=replica)
            except NotFound:
                listed = _as_listed(sample_id)
                if replica or listed is None:
                    raise
                view = await find(listed[0], replica=listed[1])
        if raw:
            sys.stdout.buffer.write(_bytes(view, part))
            sys.stdout.buffer.flush()
        elif as_json:
            cli_context.put(json.dumps({"schema": 1} | sample_json(view)))  # ASCII: texts may hold lone surrogates
        else:
            for line in _lines(view, part):
                cli_context.put(line)

    cli_context.run(command)


def _as_listed(sample_id: str) -> tuple[str, int] | None:
    """Sample and replica of `ID#REPLICA`, as lists and exports write it; None where it is no such name."""
    base, _, number = sample_id.rpartition("#")
    return (base, int(number)) if base and number.isdecimal() and number.isascii() else None


def _refuse_raw(part: Part, *, force: bool) -> None:
    if part is Part.ALL:
        raise UsageError("--raw prints one part. Add --part raw, reasoning, content or prompt.")
    if sys.stdout.isatty() and not force:
        raise Refused(
            "--raw prints stored bytes as they are, and in a terminal they could do anything. "
            "Send them to a file or a pipe, or add --force."
        )


def _bytes(view: "SampleView", part: Part) -> bytes:
    if part is Part.PROMPT:
        return json.dumps(view.messages, ensure_ascii=False).encode("utf-8", "surrogatepass")
    texts = _texts(view)
    if part is Part.RAW:
        return texts.raw
    text = texts.reasoning if part is Part.REASONING else texts.content
    if text is None:
        raise NotFound(f"Sample {view.line.sample_id!r} has no {part}: it was not found in the body.")
    return text.encode("utf-8", "surrogatepass")


def _texts(view: "SampleView") -> "Texts":
    if view.texts is None:
        raise NotFound(f"Sample {view.line.sample_id!r} has no stored body yet; it is {view.line.state}.")
    return view.texts


def _lines(view: "SampleView", part: Part) -> Iterator[str]:
    if part is Part.ALL:
        yield from _facts(view)
    if part in (Part.ALL, Part.PROMPT):
        yield from _prompt(view)
    if view.texts is None and part in (Part.ALL, Part.PROMPT):
        return
    texts = _texts(view)
    if part in (Part.ALL, Part.REASONING):
        yield from _section("reasoning", texts.reasoning, part)
    if part in (Part.ALL, Part.CONTENT):
        yield from _section("content", texts.content, part)
    if part is Part.ALL:
        yield f"--- raw ({len(texts.raw):,} bytes; --part raw shows all of it)"
        yield from _section("", texts.raw[:RAW_SHOWN].decode("utf-8", "replace"), Part.RAW)
    if part is Part.RAW:
        yield from _section("raw", texts.raw.decode("utf-8", "replace"), part)


def _section(title: str, text: str | None, part: Part) -> Iterator[str]:
    from app.progress.display import visible

    if part is Part.ALL:
        yield f"--- {title}" + ("" if text is None else f" ({len(text):,} characters)")
    if text is None:
        yield "(not found)" if part is Part.ALL else ""
    else:
        yield visible(text)


def _prompt(view: "SampleView") -> Iterator[str]:
    from app.progress.display import visible

    for turn in view.turns:
        yield f"=== turn {turn.turn}"
        if not turn.as_known:
            yield "(asked after something else than any reading of the answers before it)"
        for before, message in turn.read_then:
            yield f"(asked after this text of turn {before}, which is read otherwise now)"
            yield from _messages([message])
        yield from _messages(turn.asked)
        yield "--- assistant"
        yield "(not answered yet)" if turn.content is None else visible(turn.content)
    if not view.turns:
        yield from _messages(view.messages)


def _messages(messages: Iterable[dict[str, Any]]) -> Iterator[str]:
    from app.progress.display import visible

    for message in messages:
        yield f"--- {message['role']}"
        yield visible(str(message.get("content", "")))
        for call in message.get("tool_calls", []):
            yield f"tool call: {visible(json.dumps(call, ensure_ascii=False))}"


def _facts(view: "SampleView") -> Iterator[str]:
    from app.progress.display import one_line

    line = view.line
    yield f"{one_line(line.sample_id)}  {line.state}  attempt {line.attempt}  tries {line.tries}  row {view.source_row}"
    for answer in view.answers:
        turn = f"  turn {answer.turn}" if view.turns else ""
        yield from _answer(answer, turn, shown=answer is view.shown)
    for failure in view.failures:
        yield _failure(failure)


def _answer(answer: "Answer", turn: str, *, shown: bool) -> Iterator[str]:
    from app.progress import wording
    from app.progress.display import one_line

    reading = answer.reading
    verdict = (
        "not read yet"
        if reading is None
        else f"{reading.verdict} {' '.join(reading.flags + reading.loss_flags)}".rstrip()
    )
    mark = "*" if shown else " "
    yield (
        f"{mark} attempt {answer.attempt}{turn}  {answer.standing}  HTTP {answer.http_status or '-'}  {verdict}  "
        f"{answer.raw_bytes:,} bytes  {wording.moment(answer.received_ms)}"
    )
    if reading is not None:
        exact = "split here, byte-exact" if reading.split else "split by the server, exactness unknown"
        how = exact if reading.verdict in ("captured_field", "split_from_content") else "nothing was split"
        yield f"    finish {one_line(reading.finish_reason or '-')}  usage {one_line(reading.usage or '-')}  {how}"
    if answer.base_url is not None:
        yield f"    endpoint {one_line(answer.base_url)}  model {one_line(answer.model or '-')}"
    if answer.request is not None:
        yield f"    request {one_line(answer.request)}"


def _failure(failure: "FailedAttempt") -> str:
    from app.progress import wording
    from app.progress.display import one_line

    http = f"HTTP {failure.http_status}  " if failure.http_status is not None else ""
    body = f"  ({len(failure.body):,} bytes of a body)" if failure.body else ""
    when = wording.moment(failure.at_ms)
    return f"! attempt {failure.attempt}  {failure.cause}  {http}{one_line(failure.message)}{body}  {when}"
