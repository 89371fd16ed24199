"""Resume: a dataset goes on, and its windows begin anew."""

from collections.abc import Sequence

from app.gates import statements
from app.gates.alarms import end_for_dataset
from app.gates.watching import hold_kind
from app.leasing.holds import LiftRequest, lift
from app.model.gates import AlarmKind
from app.store.transaction import Tx


async def resume(tx: Tx, requests: Sequence[LiftRequest]) -> list[int]:
    """How many holds each request took back. Alarms end with the holds of their kind."""
    lifted = await lift(tx, requests)
    for request in requests:
        await tx.run(statements.forget_windows(), {"dataset": request.dataset})
        kinds = [kind for kind in AlarmKind if hold_kind(kind) in request.kinds]
        await end_for_dataset(tx, request.dataset, kinds)
    return lifted
