"""How a run of the worker ends: on a signal, with the work, or because only a person can help."""

import signal
from collections.abc import Callable

import anyio

from app.model.errors import ThinkledgerError, UsageError
from app.model.exits import Exit
from app.model.lease import Cause
from worker.log import Log

_TELL = {
    Cause.DENIED: "{url} refuses the API key (401 or 403). Set the key in the environment variable that --api-key-env "
    "names (default THINKLEDGER_API_KEY), then start the worker again: nothing was lost.",
    Cause.NO_SUCH_MODEL: "{url} does not know the model or the route (404). Check --model and --endpoint "
    "(`curl {url}/models` lists the models), then start the worker again: nothing was lost.",
}


class Ending:
    """Whether the run is ending, and why. The first signal drains, the second releases at once."""

    def __init__(self, wake: Callable[[], None]) -> None:
        self.draining = False
        self.code: Exit | None = None
        self.error: ThinkledgerError | None = None
        self._wake = wake
        self._now = anyio.Event()

    def drain(self, code: Exit | None) -> None:
        """Claim nothing more; what is in flight may finish."""
        self.draining = True
        if self.code is None:
            self.code = code
        self._wake()

    def release_now(self) -> None:
        """Give up what is in flight too."""
        self.draining = True
        self._now.set()
        self._wake()

    def stop_for_person(self, cause: Cause, url: str) -> None:
        """Stop at once with a sentence that says what to do."""
        if self.error is None:
            self.error = UsageError(_TELL[cause].format(url=url))
        self.release_now()

    @property
    def given_up(self) -> bool:
        """Whether what is in flight was to be given up."""
        return self._now.is_set()

    async def released(self) -> None:
        """Wait until what is in flight is to be given up."""
        await self._now.wait()


async def listen(ending: Ending, grace_s: float, log: Log) -> None:
    """Turn signals into an ending: drain for at most `grace_s`, then release."""
    with anyio.open_signal_receiver(signal.SIGTERM, signal.SIGINT) as signals:
        async for number in signals:
            already = ending.draining
            ending.drain(Exit.TERMINATED if number == signal.SIGTERM else Exit.INTERRUPTED)
            if not already:
                log.info("draining", reason=number.name, grace_s=grace_s)
            break
        if not already:
            with anyio.move_on_after(grace_s):
                await anext(signals)
        log.info("releasing", reason=number.name)
        ending.release_now()
        async for number in signals:
            log.warning("still_storing", reason=number.name, advice="answers that are paid for are being stored")
