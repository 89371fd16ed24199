"""Which servers answered: base URL, model and fingerprint are one identity, and a change makes a new row."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass

from app.leasing import events
from app.model.ids import EndpointId
from app.responses import statements
from app.store.transaction import Tx


@dataclass(frozen=True, slots=True)
class EndpointIdentity:
    """A server as it was seen. `fingerprint` holds whitelisted fields only; None where it could not be read."""

    base_url: str
    model: str
    fingerprint: dict[str, str | int | bool | None] | None

    @property
    def fingerprint_json(self) -> str:
        return json.dumps(self.fingerprint, sort_keys=True) if self.fingerprint is not None else '"unknown"'


async def see(tx: Tx, identities: Sequence[EndpointIdentity]) -> list[EndpointId]:
    """The number of each identity; a new one is an event."""
    return [await _see_one(tx, identity) for identity in identities]


async def _see_one(tx: Tx, identity: EndpointIdentity) -> EndpointId:
    await tx.seq()
    text = identity.fingerprint_json
    row = {
        "base_url": identity.base_url, "model": identity.model, "fingerprint": text,
        "fingerprint_sha256": hashlib.sha256(text.encode()).hexdigest(),
        "first_seen_ms": tx.now_ms, "last_seen_ms": tx.now_ms, "seen_ms": tx.now_ms,
    }  # fmt: skip
    seen = await tx.first(statements.see_endpoint(), row)
    assert seen is not None
    if seen.first_seen_ms == tx.now_ms:
        await events.note(tx, "endpoint_seen", base_url=identity.base_url, model=identity.model)
    return EndpointId(seen.id)
