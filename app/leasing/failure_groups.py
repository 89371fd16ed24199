"""Failed attempts that went wrong in the same way are counted together, where they are noted."""

from app.leasing import statements_settling
from app.model.lease import Failure
from app.model.masking import masked
from app.store.codec import needs_json
from app.store.transaction import Tx

MOST_GROUPS = 500  # of one dataset
OTHERS = "(other messages)"  # a server whose every message is another must not fill the store with groups


async def group_of(tx: Tx, failure: Failure) -> int:
    """The group of a failed attempt, counted up by it."""
    words = masked(failure.message)
    key = {
        "dataset": failure.lease.dataset, "cause": failure.cause, "http_status": failure.http_status or 0,
        "message": OTHERS if needs_json(words) else words,
    }  # fmt: skip
    group = await tx.value(statements_settling.failure_group(), key)
    if group is None and await tx.value(statements_settling.failure_groups(), key) >= MOST_GROUPS:
        key["message"] = OTHERS
    return int(await tx.value(statements_settling.count_failure(), key | {"now_ms": tx.now_ms}))
