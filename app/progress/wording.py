"""Numbers as words: the same on the page and in the terminal."""

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import Protocol

from app.gates.health import AskedEndpoint, Endpoints, Reach
from app.model.states import JobState
from app.progress.eta import Eta, Word
from app.progress.overview import Alarm, Liveness, Need, Pace, Tally
from app.progress.rates import HISTORY_MS, LEAST_COMPLETIONS, LEAST_SPAN_MS, MINUTE_MS, Rate
from app.spool.looking import FileState, SpoolState, answers_wait

SERVER_BACKUPS = "backups by pg_dump"
_HOUR = 60
_DAY = 24 * _HOUR


def duration(span_ms: int) -> str:
    """`2 d 12 h`, `3 h 20 min` or `5 min`: the two largest units, cut."""
    minutes = span_ms // MINUTE_MS
    days, hours, rest = minutes // _DAY, minutes % _DAY // _HOUR, minutes % _HOUR
    if days:
        return f"{days} d {hours} h" if hours else f"{days} d"
    if hours:
        return f"{hours} h {rest} min" if rest else f"{hours} h"
    return f"{minutes} min" if minutes else "under 1 min"


def age(span_ms: int) -> str:
    """`12 s` and longer."""
    return f"{max(0, span_ms) // 1000} s" if span_ms < MINUTE_MS else duration(span_ms)


def eta(found: Eta) -> str:
    """`2 d 12 h - 3 d 4 h`, or the word that stands in for it."""
    if found.word is not None or found.soonest_ms is None:
        return str(found.word)
    soonest = duration(found.soonest_ms)
    if found.latest_ms is None:
        return f"over {soonest}"
    latest = duration(found.latest_ms)
    return soonest if soonest == latest else f"{soonest} - {latest}"


def per_hour(rate: Rate) -> str:
    """`118 /h`, or how far the measuring is."""
    if rate.per_hour is not None:
        return f"{rate.per_hour:,} /h"
    if rate.completions < LEAST_COMPLETIONS:
        return f"measuring {rate.completions}/{LEAST_COMPLETIONS}"
    return f"measuring {rate.span_ms // MINUTE_MS}/{LEAST_SPAN_MS // MINUTE_MS} min"


def tokens_per_second(rate: Rate) -> str:
    """`902 tok/s`; a dash while measuring."""
    return "-" if rate.tokens_per_second is None else f"{rate.tokens_per_second:,} tok/s"


def moves(found: Pace) -> bool:
    """Whether a rate speaks of what is going on, and not of what has ended."""
    return found.eta.word in (None, Word.MEASURING)


def pace_per_hour(found: Pace) -> str:
    """The rate of what is running; a dash of what is not."""
    return per_hour(found.rate) if moves(found) else "-"


def pace_tokens(found: Pace) -> str:
    """The tokens of what is running; nothing of what is not."""
    return tokens_per_second(found.rate) if moves(found) and found.rate.known else ""


def pace(found: Pace) -> str:
    """Rate and tokens in one phrase."""
    return f"{pace_per_hour(found)}  {pace_tokens(found)}".rstrip()


def rate_note(found: Pace) -> str:
    """Of what the rate is measured, or what it still waits for."""
    rate = found.rate
    if not moves(found):
        return "no answer comes now" if found.eta.word is Word.STALLED else "nothing is asked now"
    if rate.known:
        return f"{rate.completions:,} answers in the last {duration(rate.span_ms)}"
    return (
        f"known after {LEAST_COMPLETIONS} answers and {duration(LEAST_SPAN_MS)} of running; "
        f"so far {rate.completions:,} in {duration(rate.span_ms)}"
    )


def eta_note(found: Pace, remaining: int) -> str:
    """What an ETA speaks of, and what it is reckoned from."""
    to_go = f"{remaining:,} jobs to go"
    match found.eta.word:
        case None:
            return f"{to_go}, at the slow and the fast pace of the last {duration(HISTORY_MS)}"
        case Word.MEASURING:
            return f"{to_go}; known when the rate is"
        case Word.STALLED:
            return f"{to_go}; requests are open, and no answer came for long"
        case _:
            return to_go


def states(tally: Tally) -> str:
    """Every state and their sum beside the total."""
    each = "  ".join(f"{state} {tally.state(state):,}" for state in JobState)
    return f"{each}  sum {tally.summed:,}/{tally.total:,} {'ok' if tally.adds_up else 'MISMATCH'}"


def mismatch(tally: Tally) -> str | None:
    """What a tally that does not add up says; None when it does."""
    return tally.sums.mismatch


def webhook(untold: Sequence[Alarm]) -> str | None:
    """What to say of alarms that could not be sent; None without any."""
    if not untold:
        return None
    which = "1 alarm" if len(untold) == 1 else f"{len(untold):,} alarms"
    worst = max(untold, key=lambda alarm: alarm.tell_tries)
    tries = "once" if worst.tell_tries == 1 else f"{worst.tell_tries:,} times"
    return f"The webhook fails: {which} could not be sent, tried {tries} in a row, the last time: {worst.tell_error}."


class Counted(Protocol):
    """Workers that can be counted by liveness."""

    def count(self, liveness: Liveness) -> int: ...


def workers(found: Counted) -> str:
    """`2 live, 0 late, 3 stopped, 1 dead`; those that are gone only where there are some: they are soon called dead."""
    counts = [(found.count(liveness), liveness) for liveness in Liveness]
    return ", ".join(f"{count} {liveness}" for count, liveness in counts if count or liveness is not Liveness.GONE)


def endpoints(found: Endpoints) -> str:
    """All servers that are asked now, in a few words."""
    count = len(found.asked)
    match found.reach:
        case Reach.NONE:
            return "no endpoint yet"
        case Reach.NOT_ASKED:
            return "endpoint not asked"
        case Reach.PARTLY if count == 1:
            return f"endpoint down for {found.asked[0].down:,} of {found.asked[0].asking:,} workers"
        case Reach.PARTLY:
            return f"{len(found.down):,} of {count:,} endpoints down"
        case _:
            return f"endpoint {found.reach}" if count == 1 else f"{count:,} endpoints {found.reach}"


def endpoint(one: AskedEndpoint) -> str:
    """One server: `up since ...`, or `down for 1 of 2 workers since ...: why`."""
    if one.reason is None:
        return f"up since {moment(one.since_ms)}"
    whom = f" for {one.down:,} of {one.asking:,} workers" if one.asking > 1 else ""
    return f"down{whom} since {moment(one.since_ms)}: {one.reason}"


def spool(found: SpoolState) -> Iterator[str]:
    """What waits in the spool, in all and file by file; nothing where there is nothing to say."""
    if found.waiting and found.oldest_ms is not None:
        held = any(file.held for file in found.files if file.waiting)
        then = "a live worker brings them in" if held else "start a worker to bring them in"
        yield f"{answers_wait(found.waiting)}, {size(found.bytes)}, oldest {moment(found.oldest_ms)}: {then}"
    for file in found.files:
        if file.waiting or file.kept or file.torn_bytes:
            yield f"{file.path}: {_spool_file(file)}"
    for folder in found.unseen:
        yield f"{folder}: not there now, so what waits in it is not counted"


def _spool_file(file: FileState) -> str:
    told = [
        f"{file.waiting:,} wait, {size(file.bytes)} of {size(file.size)}" if file.waiting else "",
        "held by a live worker" if file.held else "",
        f"{file.kept:,} kept, no job of this store matches them" if file.kept else "",
        f"{file.torn_bytes:,} bytes of a write that was cut off" if file.torn_bytes else "",
    ]
    return ", ".join(words for words in told if words)


def size(count: int) -> str:
    """`1.2 GiB`, cut after one decimal."""
    for power, unit in ((3, "GiB"), (2, "MiB"), (1, "KiB")):
        if count >= 1024**power:
            tenths = count * 10 // 1024**power
            return f"{tenths // 10}.{tenths % 10} {unit}"
    return f"{count} B"


def moment(at_ms: int) -> str:
    """`2026-03-01 14:02:31 UTC`."""
    return datetime.fromtimestamp(at_ms / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")


def last_backup(made_ms: int | None, *, on_server: bool) -> str:
    """When the newest backup was made; of what a server keeps only that backups are made there."""
    if on_server:
        return SERVER_BACKUPS
    return "no backup yet" if made_ms is None else f"last backup {moment(made_ms)}"


def free(disk_free: int, *, on_server: bool) -> str:
    """How much room is left where the store lies, or its spool: the disk of a server is not seen from here."""
    return f"{size(disk_free)} free here, for the spool" if on_server else f"{size(disk_free)} free"


def need(found: Need) -> str:
    """`about 3.2 GiB for 10,000 open jobs (340.1 KiB an answer so far)`."""
    if found.total is None or found.answer_bytes is None:
        return f"unknown for {found.open_jobs:,} open jobs: no answer yet"
    return f"about {size(found.total)} for {found.open_jobs:,} open jobs ({size(found.answer_bytes)} an answer so far)"


def turns(tally: Tally) -> str:
    """`conversations: 1,234/5,678 turns answered, 21.7 %`; nothing where there are none."""
    return f"conversations: {tally.turns} turns answered, {tally.turns.percent}" if tally.turns.whole else ""
