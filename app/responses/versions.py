"""Which parser may write readings: none that is older than one that has written in this store."""

from app.capture import PARSER_VERSION
from app.leasing import events
from app.model.errors import UsageError
from app.responses import statements
from app.store.store import Store
from app.store.transaction import Reads, Tx


async def claim_version(tx: Tx) -> None:
    """Call before readings are written: refuses where a newer parser wrote, and notes ours where it is the newest."""
    if await _newest(tx) < PARSER_VERSION:
        await tx.seq()
        await tx.run(statements.raise_parser_version(), {"to_version": PARSER_VERSION})
        await events.note(tx, "parser", version=PARSER_VERSION)


async def refuse_newer(store: Store) -> None:
    """Refuse at the start what `claim_version` would refuse after hours of work."""
    async with store.snapshot() as reads:
        await _newest(reads)


async def _newest(reads: Reads) -> int:
    newest = int(await reads.value(statements.parser_version()))
    if newest > PARSER_VERSION:
        raise UsageError(
            f"Parser {newest} has written readings in this store, and this is parser {PARSER_VERSION}: an older one "
            "would judge answers by rules that were found wrong. Upgrade thinkledger on this machine."
        )
    return newest
