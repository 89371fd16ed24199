"""What stands before the first answer: the bundled prompts in a store, its dashboard, and the simulator.

Nothing here imports the worker, which is heavy: the page is up before that is done.
"""

import os
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

import anyio
from anyio.streams.text import TextReceiveStream

from app.intake.importing import import_file
from app.intake.request import ImportRequest
from app.model.errors import ThinkledgerError
from app.store.store import Store, open_store
from app.web import token
from app.web.serving import Address, Running, Serving, serve

PROMPTS = Path(__file__).parent / "prompts"
DATASETS = ("B1_glaive", "OpenCodeInstruct", "UltraChat")


async def import_prompts(store: Path) -> None:
    """The bundled datasets into a new store."""
    async with open_store(str(store), create=True) as opened:
        for name in DATASETS:
            request = ImportRequest(dataset=name, path=str(PROMPTS / f"{name}.jsonl"))
            await import_file(opened, request, lambda _progress: None)


@asynccontextmanager
async def dashboard(store: Store, on_ready: Callable[[Running], None]) -> AsyncIterator[None]:
    """The dashboard of a store on a free port of this machine, as long as this lasts; signals are left alone."""
    asked = Serving(Address("127.0.0.1", 0), token.make_or_read(token.token_file(store.place.path)))
    up = anyio.Event()
    running: list[Running] = []

    def ready(one: Running) -> None:
        running.append(one)
        on_ready(one)
        up.set()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(partial(serve, store, asked, ready, signals=False))
        await up.wait()
        try:
            yield
        finally:
            running[0].stop()


@asynccontextmanager
async def simulator(latency: str, slots: int) -> AsyncIterator[str]:
    """A simulator in a process of its own; its URL."""
    command = [sys.executable, "-m", "worker.simulator", "--port", "0", "--latency", latency, "--slots", str(slots)]
    async with await anyio.open_process(command, stderr=subprocess.DEVNULL, env=dict(os.environ)) as process:
        try:
            assert process.stdout is not None
            line = await anext(aiter(TextReceiveStream(process.stdout)), "")
            if "http://" not in line:
                raise ThinkledgerError("The simulator did not start. `python -m worker.simulator` shows why.")
            yield line[line.index("http://") :].strip()
        finally:
            process.terminate()
