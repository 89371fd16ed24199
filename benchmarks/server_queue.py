"""A queue of others that lies on a PostgreSQL server; run by `benchmarks.other_queues`."""

import asyncio
from collections.abc import Callable, Sequence


def procrastinate(url: str) -> Callable[[Sequence[str], Sequence[str]], None]:
    """Tasks of a worker that has 64 of them in hand; the schema is made before anything is measured."""
    from procrastinate import App, PsycopgConnector, SyncPsycopgConnector

    with App(connector=SyncPsycopgConnector(conninfo=url)).open() as made:
        made.schema_manager.apply_schema()
    app = App(connector=PsycopgConnector(conninfo=url))
    texts: Sequence[str] = ()

    @app.task(queue="answers")
    def keep(answer: str) -> None:
        """Never worked on: the row holds the answer."""

    @app.task(queue="prompts")
    async def ask(place: int, prompt: str) -> None:
        await keep.defer_async(answer=texts[place])

    async def through(prompts: Sequence[str]) -> None:
        async with app.open_async():
            for place, prompt in enumerate(prompts):
                await ask.defer_async(place=place, prompt=prompt)
            await app.run_worker_async(
                queues=["prompts"], wait=False, concurrency=64, listen_notify=False, install_signal_handlers=False
            )

    def work(prompts: Sequence[str], answers: Sequence[str]) -> None:
        nonlocal texts
        texts = answers
        asyncio.run(through(prompts))

    return work
