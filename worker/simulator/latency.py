"""How long an answer takes. Pure and reproducible: the seconds depend on the prompt's digest alone."""

import math
from collections.abc import Callable
from statistics import NormalDist

Latency = Callable[[bytes], float]

GRAMMAR = "a latency is `0`, `fixed:S`, `uniform:LOW,HIGH` or `lognormal:MEDIAN,SIGMA`, in seconds"

_NORMAL = NormalDist()


def parse_latency(text: str) -> Latency:
    """The latency that a text names: `0`, `fixed:0.2`, `uniform:0.1,0.5` or `lognormal:MEDIAN,SIGMA`."""
    kind, colon, rest = text.partition(":")
    numbers = _numbers(rest if colon else text)
    match (kind if colon else "fixed", numbers):
        case ("fixed", [seconds]):
            return lambda _digest: seconds
        case ("uniform", [low, high]) if low <= high:
            return lambda digest: low + (high - low) * fraction(digest)
        case ("lognormal", [median, sigma]):
            return lambda digest: median * math.exp(sigma * _NORMAL.inv_cdf(fraction(digest)))
    raise ValueError(f"{GRAMMAR}; not {text!r}")


def fraction(digest: bytes) -> float:
    """A number between 0 and 1, both excluded, that a digest stands for."""
    return (int.from_bytes(digest[8:14], "big") + 0.5) / (1 << 48)


def _numbers(text: str) -> list[float]:
    try:
        numbers = [float(part) for part in text.split(",")]
    except ValueError as error:
        raise ValueError(f"{GRAMMAR}; {text!r} is no number") from error
    if not all(math.isfinite(number) and number >= 0 for number in numbers):
        raise ValueError(f"{GRAMMAR}; {text!r} is not finite or below 0")
    return numbers
