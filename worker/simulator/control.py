"""The simulator's own routes: its counters, a reset, another play at run time, and an outage."""

from typing import Annotated
from urllib.parse import parse_qs

import msgspec

from worker.simulator.behaviour import Behaviour
from worker.simulator.slots import Slots
from worker.simulator.stats import Object, Stats
from worker.simulator.timeline import Timeline


class Play(msgspec.Struct, forbid_unknown_fields=True):
    """What POST /simulator/play may change; what it does not name stays."""

    persona: str | msgspec.UnsetType = msgspec.UNSET
    faults: list[str] | msgspec.UnsetType = msgspec.UNSET
    latency: str | msgspec.UnsetType = msgspec.UNSET
    slots: int | msgspec.UnsetType | None = msgspec.UNSET
    answer_bytes: int | msgspec.UnsetType = msgspec.UNSET

    def changes(self) -> dict[str, object]:
        """The fields that were named, as the configuration spells them."""
        named = {field: getattr(self, field) for field in self.__struct_fields__}
        if isinstance(self.faults, list):
            named["faults"] = tuple(self.faults)
        return {field: value for field, value in named.items() if value is not msgspec.UNSET}


class Outage(msgspec.Struct, forbid_unknown_fields=True):
    """What POST /simulator/outage asks for."""

    seconds: Annotated[float, msgspec.Meta(gt=0, le=3600)]


class Control:
    """GET /simulator/stats, POST /simulator/reset, POST /simulator/play, POST /simulator/outage."""

    def __init__(self, behaviour: Behaviour, stats: Stats, slots: Slots, timeline: Timeline) -> None:
        self._behaviour = behaviour
        self._stats = stats
        self._slots = slots
        self._timeline = timeline

    def stats(self, query: bytes) -> Object:
        """All counters; the prompts one by one with `?prompts=1`."""
        with_prompts = parse_qs(query.decode()).get("prompts") == ["1"]
        return self._stats.as_object(with_prompts) | {
            "seconds": self._timeline.seconds,
            "slots": self._slots.limit,
            "busy": self._slots.busy,
            "queued": self._slots.queued,
            "max_busy": self._slots.max_busy,
            "max_queued": self._slots.max_queued,
            "busy_slot_seconds": self._timeline.busy_slot_seconds,
            "timeline": self._timeline.samples,
        }

    def reset(self) -> Object:
        """Behave and count as if just started; requests under way go on."""
        self._behaviour.reset()
        self._stats.reset()
        self._timeline.start(self._slots.busy, self._slots.queued)
        self._slots.resize(self._behaviour.config.slots)
        self._slots.forget_peaks()
        return self._playing()

    def play(self, body: bytes) -> Object:
        """Change what is played; ValueError when it cannot be played, and then nothing has changed."""
        try:
            changes = msgspec.json.decode(body or b"{}", type=Play).changes()
        except (msgspec.ValidationError, msgspec.DecodeError) as error:
            raise ValueError(str(error)) from error
        self._behaviour.change(changes)
        self._slots.resize(self._behaviour.config.slots)
        return self._playing()

    @staticmethod
    def outage(body: bytes) -> float:
        """For how many seconds the server is to be away; ValueError when that is no time."""
        try:
            return msgspec.json.decode(body, type=Outage).seconds
        except (msgspec.ValidationError, msgspec.DecodeError) as error:
            raise ValueError(str(error)) from error

    def _playing(self) -> Object:
        config = self._behaviour.config
        return {
            "persona": config.persona,
            "faults": config.faults,
            "latency": config.latency,
            "slots": config.slots,
            "answer_bytes": config.answer_bytes,
        }
