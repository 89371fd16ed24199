"""Faults on order: `PERSONA@RULE`. Pure; the same count, second and prompt always give the same decision."""

import hashlib
import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from worker.simulator.latency import fraction
from worker.simulator.personas import persona_named

GRAMMAR = (
    "a fault is PERSONA@every:N, PERSONA@first:N, PERSONA@after:N, PERSONA@from:10s..70s, PERSONA@prompt:TEXT or "
    "PERSONA@chance:0.05:SEED"
)


@dataclass(frozen=True, slots=True)
class Moment:
    """When and for what a request came."""

    count: int  # 1 for the first chat request since start, reset or the last play
    seconds: float  # since the start or the last reset
    prompt: str


Rule = Callable[[Moment], bool]


@dataclass(frozen=True, slots=True)
class Fault:
    """A persona that takes over where its rule holds."""

    text: str
    persona: str
    holds: Rule


def parse_fault(text: str) -> Fault:
    """The fault that a text names; ValueError with the grammar when it names none."""
    persona, at, rule = text.partition("@")
    kind, colon, rest = rule.partition(":")
    build = _RULES.get(kind)
    if not (at and colon and build):
        raise ValueError(f"{GRAMMAR}; not {text!r}")
    persona_named(persona)
    try:
        return Fault(text, persona, build(rest))
    except ValueError as error:
        raise ValueError(f"{GRAMMAR}; not {text!r}") from error


def chosen(faults: Sequence[Fault], moment: Moment) -> str | None:
    """The persona of the first fault that holds."""
    for fault in faults:
        if fault.holds(moment):
            return fault.persona
    return None


def _every(text: str) -> Rule:
    number = _positive(text)
    return lambda moment: moment.count % number == 0


def _first(text: str) -> Rule:
    number = _positive(text)
    return lambda moment: moment.count <= number


def _after(text: str) -> Rule:
    number = int(text)
    return lambda moment: moment.count > number


_SPAN = re.compile(r"(?P<begin>\d+(?:\.\d+)?)s\.\.(?:(?P<end>\d+(?:\.\d+)?)s)?")


def _from(text: str) -> Rule:
    span = _SPAN.fullmatch(text)
    if span is None:
        raise ValueError(text)
    begin, end = float(span["begin"]), float(span["end"]) if span["end"] else math.inf
    return lambda moment: begin <= moment.seconds < end


def _prompt(text: str) -> Rule:
    if not text:
        raise ValueError(text)
    return lambda moment: text in moment.prompt


def _chance(text: str) -> Rule:
    share, _, seed = text.partition(":")
    chance = float(share)
    if not 0 <= chance <= 1:
        raise ValueError(text)
    return lambda moment: fraction(hashlib.sha256(f"{seed}:{moment.count}".encode()).digest()) < chance


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise ValueError(text)
    return number


_RULES: dict[str, Callable[[str], Rule]] = {
    "every": _every,
    "first": _first,
    "after": _after,
    "from": _from,
    "prompt": _prompt,
    "chance": _chance,
}
