"""Stores for the tests of the dashboard."""

from pathlib import Path

import anyio

from app.leasing.holds import HoldKind, HoldRequest, hold
from app.model.verdicts import Verdict
from tests.support.filled import LOST, chat, filled, thought

REASON = "<script>alert(1)</script> \x1b[31m \u202e"
ODD = ("a/b", "..", "100%41", "<img src=x onerror=alert(1)>", "blank and ümlaut", "x?y#z&w")


def fill(folder: Path) -> None:
    """B1_glaive: 3 of 10 done, one lost, held; Magicoder: 1 to ask."""

    async def make() -> None:
        async with filled(folder / "t.db") as at:
            first = await at.dataset("B1_glaive", 10)
            await at.answer_next("B1_glaive", thought(1), thought(2), LOST[Verdict.MISSING])
            await at.dataset("Magicoder", 1)
            await at.store.write(hold, HoldRequest(first, HoldKind.GATE, REASON))

    anyio.run(make)


def fill_free(folder: Path) -> None:
    """`free`: 4 of 8 done (two split, one in a field, one lost), 2 failed, 2 ready; nothing is held."""

    async def make() -> None:
        async with filled(folder / "t.db") as at:
            await at.dataset("free", 8)
            in_field = chat("answer 3", reasoning="think 3")
            await at.answer_next("free", thought(1), thought(2), in_field, LOST[Verdict.MISSING])
            for lease in await at.claim(2, "free"):
                await at.fail(lease)

    anyio.run(make)
