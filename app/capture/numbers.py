"""Counts and token ids: integers that fit their column, or nothing."""

from app.capture.reading import Usage

_COUNT_LIMIT = 2**63  # a column of the store
_ID_LIMIT = 2**32  # token ids are stored as unsigned 32 bits


def count(value: object) -> int | None:
    """A non-negative integer of at most 63 bits; None for everything else, booleans too."""
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < _COUNT_LIMIT:
        return value
    return None


def usage(value: object) -> Usage | None:
    """The counts of a `usage` object; None when there is none."""
    if not isinstance(value, dict):
        return None
    return Usage(
        prompt_tokens=count(value.get("prompt_tokens")),
        completion_tokens=count(value.get("completion_tokens")),
        reasoning_tokens=_reasoning_tokens(value),
    )


def _reasoning_tokens(value: dict[str, object]) -> int | None:
    # SGLang counts at the top level, OpenAI and vLLM in the details, some in both; one that says 0 proves nothing.
    details = value.get("completion_tokens_details")
    inner = details.get("reasoning_tokens") if isinstance(details, dict) else None
    counts = [found for found in (count(value.get("reasoning_tokens")), count(inner)) if found is not None]
    return max(counts, default=None)


def token_ids(*places: object) -> tuple[int, ...] | None:
    """The ids of the first place that holds a list of token ids and nothing else."""
    for place in places:
        if isinstance(place, list) and all(type(one) is int and 0 <= one < _ID_LIMIT for one in place):
            return tuple(place)
    return None
