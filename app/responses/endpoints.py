"""Which servers answered: base URL, model and fingerprint are one identity, and a change makes a new row."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from app.gates.alarms import Alarm, raise_alarms
from app.leasing import events
from app.model.gate_words import server_changed
from app.model.gates import AlarmKind
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
    """The number of each identity. A new one is an event; another than the URL had before is an alarm."""
    return [await _see_one(tx, identity) for identity in identities]


async def _see_one(tx: Tx, identity: EndpointIdentity) -> EndpointId:
    await tx.seq()
    text = identity.fingerprint_json
    row = {
        "base_url": identity.base_url, "model": identity.model, "fingerprint": text,
        "fingerprint_sha256": hashlib.sha256(text.encode()).hexdigest(),
        "first_seen_ms": tx.now_ms, "last_seen_ms": tx.now_ms, "seen_ms": tx.now_ms,
    }  # fmt: skip
    before = await tx.first(statements.identity_before(), {"base_url": identity.base_url, "model": identity.model})
    seen = await tx.first(statements.see_endpoint(), row)
    assert seen is not None
    if seen.first_seen_ms == tx.now_ms:
        await events.note(tx, "endpoint_seen", base_url=identity.base_url, model=identity.model)
    if before is not None and before.id != seen.id:
        await _note_change(tx, EndpointId(seen.id), identity, before)
    return EndpointId(seen.id)


async def _note_change(tx: Tx, endpoint: EndpointId, now: EndpointIdentity, before: Any) -> None:
    await events.note(tx, "server_changed", base_url=now.base_url, model=now.model, endpoint=endpoint)
    told = server_changed(
        now.base_url, *differences((now.model, now.fingerprint_json), (before.model, before.fingerprint))
    )
    await raise_alarms(tx, [Alarm(AlarmKind.SERVER_CHANGED, told, endpoint=endpoint)])


def differences(now: tuple[str, str], before: tuple[str, str]) -> tuple[str, str]:
    """What differs between two identities (model, fingerprint as JSON): the fields of each side, in words."""
    sides = [{"model": model, **_fields(fingerprint)} for model, fingerprint in (now, before)]
    differ = sorted(name for name in sides[0].keys() | sides[1].keys() if sides[0].get(name) != sides[1].get(name))
    there, earlier = (", ".join(f"{name} {side.get(name)}" for name in differ) for side in sides)
    return there, earlier


def _fields(fingerprint: str) -> dict[str, Any]:
    known = json.loads(fingerprint)
    return known if isinstance(known, dict) else {"fingerprint": known}
