"""Values of options that several commands take, from the words people type."""

import re
from typing import Any, TypeVar

from app.model.errors import UsageError

_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0, "": 1.0}
_SIZES = {"": 1, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30}

# The formats of app.intake and the presets of app.export, spelled out so that help imports nothing heavy.
FORMATS = (
    "auto", "own", "messages", "prompt", "sharegpt", "specforge", "glaive", "glaive_functions", "opencodeinstruct",
    "magicoder", "alpaca", "alpaca_blank_line", "query", "pairs", "ultrachat", "mt_bench", "swe_agent",
    "swe_agent_history", "openai_batch", "raw_responses", "openai_batch_result", "curator", "full",
)  # fmt: skip
FILE_FORMATS = ("jsonl", "parquet")
PRESETS = (
    "run_inference", "messages", "specforge", "specforge_turns", "inline_think", "sharegpt", "openai_batch", "full",
    "tokens", "text",
)  # fmt: skip


def seconds(text: str) -> float:
    """A duration: 90, 30s, 5m, 2h."""
    found = re.fullmatch(r"(\d+(?:\.\d+)?)(ms|s|m|h|d|)", text.strip())
    if not found:
        raise UsageError(f"{text!r} is no duration. Expected forms like 30s, 5m or 2h.")
    return float(found[1]) * _UNITS[found[2]]


def size(text: str) -> int:
    """A number of bytes: 1048576, 64MiB, 1GiB."""
    found = re.fullmatch(r"(\d+)\s*(KiB|MiB|GiB|)", text.strip())
    if not found:
        raise UsageError(f"{text!r} is no size. Expected forms like 64MiB or 1GiB.")
    return int(found[1]) * _SIZES[found[2]]


def backup_age(text: str) -> int | None:
    """How long answers may be in no backup, in milliseconds; None for ever."""
    age_s = seconds(text)
    if age_s == 0:
        return None
    return int(at_least("--backup-age", text, age_s, 60.0, "the shortest is 1m; 0 is for ever") * 1000)


Number = TypeVar("Number", int, float)


def at_least(option: str, text: str, value: Number, least: Number, words: str) -> Number:
    """The value, where it can be meant: `words` say what the least one is, or what a smaller one would do."""
    if value < least:
        raise UsageError(f"{option} {text}: {words}.")
    return value


def known_profile(profile: str | None) -> str | None:
    """A profile that the parser knows."""
    from app.capture import PROFILES

    if profile is not None and profile not in PROFILES:
        raise UsageError(f"Unknown profile {profile!r}. Known ones: {', '.join(PROFILES)}.")
    return profile


def extra_keys(text: str | None) -> dict[str, Any] | None:
    """The keys of --extra, as strictly read as a row of a file."""
    from app.intake.refusal import RowRefused, expected
    from app.intake.strict_json import read_text

    if text is None:
        return None
    try:
        value = read_text(text)
    except RowRefused as refused:
        raise UsageError(
            f"--extra: expected {expected(refused.reason)} ({refused.reason} {refused.detail})."
        ) from refused
    if not isinstance(value, dict):
        raise UsageError("""--extra takes a JSON object, for example '{"top_k": 20}'.""")
    return value
