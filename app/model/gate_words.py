"""What an alarm says: what happened, with its numbers, and what to do. Pure."""

from app.model.gates import AlarmKind, Finding, Outcome
from app.model.verdicts import Fraction

_WORD = {
    Outcome.MISSING: "missing",
    Outcome.LEAKED: "leaked",
    Outcome.TRUNCATED: "truncated",
    Outcome.MALFORMED: "malformed",
}
_AGAIN = frozenset({Outcome.MISSING, Outcome.LEAKED})  # a malformed answer is asked again anyway, a cut one needs more
_HAPPENED = {
    AlarmKind.GATE: "{part} of the first {whole} answers captured{misses} (needs {needs}).",
    AlarmKind.CAPTURE_LOW: "{part} of the last {whole} answers captured, {percent}{misses} (needs {needs}).",
    AlarmKind.LOST_ANY: "{part} of {whole} answers came without usable reasoning.",
    AlarmKind.TRUNCATED_HIGH: "{part} of the last {whole} answers, {percent}, were cut off by their token limit.",
    AlarmKind.UNREADABLE: "{part} of the last {whole} bodies that came with HTTP 200 were no answers.",
}


def message(finding: Finding, dataset: str, url: str | None) -> str:
    """One line for a person. `url` is the server's, where one server is meant."""
    part, whole = f"{finding.part:,}", f"{finding.whole:,}"
    happened = _HAPPENED[finding.kind].format(
        part=part, whole=whole, needs=finding.needs, misses=_misses(finding), percent=share(finding)
    )
    return f"{happened} {_look(finding, dataset)}{_mend(finding, dataset, url) if finding.holds else '.'}"


def share(finding: Finding) -> str:
    """`62.0 %`, cut after one decimal."""
    return Fraction(finding.part, finding.whole).percent


def _misses(finding: Finding) -> str:
    return "".join(f", {count:,} {_WORD[outcome]}" for outcome, count in finding.misses if outcome in _WORD)


def _look(finding: Finding, dataset: str) -> str:
    """Where the evidence is."""
    samples = f"thinkledger samples {dataset}"
    if finding.kind is AlarmKind.UNREADABLE:
        return f"See `{samples} --cause malformed`"
    if finding.kind is AlarmKind.TRUNCATED_HIGH:
        return f"See `{samples} --verdict truncated`; `thinkledger datasets set {dataset} --max-tokens N` allows more"
    if finding.kind is AlarmKind.LOST_ANY:
        again = _again(dataset, Outcome.MISSING)
        return f"See `{samples} --verdict missing` and `--verdict leaked`; when the server is mended, {again}"
    worst = finding.misses[0][0] if finding.misses else Outcome.MISSING
    chosen = "--cause malformed" if worst is Outcome.MALFORMED else f"--verdict {_WORD[worst]}"
    return f"See `{samples} {chosen}`"


def _mend(finding: Finding, dataset: str, url: str | None) -> str:
    resume = f"`thinkledger datasets resume {dataset}`"
    if finding.kind is AlarmKind.TRUNCATED_HIGH:
        return f"; then: {resume}."
    probe = f"`thinkledger probe --endpoint {url or 'URL'} --dataset {dataset}`"
    worst = finding.misses[0][0] if finding.misses else Outcome.MALFORMED
    again = "" if worst not in _AGAIN else f"; then {_again(dataset, worst)}"
    return f"; after mending the server: {probe}, which resumes when reasoning is there, or {resume}{again}."


def _again(dataset: str, outcome: Outcome) -> str:
    """How what was lost is asked again: those are done jobs, which nobody asks again by himself."""
    return f"`thinkledger retry {dataset} --verdict {_WORD[outcome]}` asks what was lost again"


def server_changed(url: str, now: str, before: str) -> str:
    """A server is another than it was."""
    return (
        f"{url} is not the server it was: {now}; before: {before}. Each dataset checks its first answers anew; "
        "this ends when one has passed."
    )
