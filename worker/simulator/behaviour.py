"""What is being played: the persona, the faults and the counters that decide between them."""

from dataclasses import replace

from worker.simulator.config import Config
from worker.simulator.faults import Moment, chosen, parse_fault
from worker.simulator.latency import parse_latency
from worker.simulator.personas import ILL_HEALTH, SILENT


class Behaviour:
    """The current play. Counts begin anew with every play, seconds only with a reset."""

    def __init__(self, config: Config) -> None:
        self._started_with = config
        self.play(config)

    def play(self, config: Config) -> None:
        """Behave as `config` says from now on."""
        self.config = config
        self.latency = parse_latency(config.latency)
        self._faults = tuple([parse_fault(fault) for fault in config.faults])
        self._count = 0
        self._ordinals: dict[str, int] = {}

    def change(self, changes: dict[str, object]) -> None:
        """Play the current configuration with some fields changed; ValueError if it cannot be played."""
        self.play(replace(self.config, **changes))  # type: ignore[arg-type]

    def reset(self) -> None:
        """Behave as at the start."""
        self.play(self._started_with)

    def next_persona(self, prompt: str, seconds: float) -> tuple[str, int]:
        """The persona for the chat request that just came, and how many requests it was given with this one."""
        self._count += 1
        name = chosen(self._faults, Moment(self._count, seconds, prompt)) or self.config.persona
        self._ordinals[name] = self._ordinals.get(name, 0) + 1
        return name, self._ordinals[name]

    def healthy(self, seconds: float) -> bool:
        """Whether /health is 200: the next chat request, for any prompt, would not be one for a dead scheduler."""
        return self._next(seconds) not in ILL_HEALTH

    def silent(self, seconds: float) -> bool:
        """Whether nothing is answered at all."""
        return self._next(seconds) in SILENT

    def _next(self, seconds: float) -> str:
        name = chosen(self._faults, Moment(self._count + 1, seconds, "")) or self.config.persona
        return name.partition(":")[0]
