"""How the jobs of a dataset are asked and judged; stored with the dataset as JSON."""

import json
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any

from app.model.errors import UsageError

# Kimi-K2.5's model card: thinking mode 1.0 and 0.95, instant mode 0.6 and 0.95.
TEMPERATURE = {True: 1.0, False: 0.6}
TOP_P = 0.95

# Set by the tool itself: another value would break the queue, the count of answers or the reading of streams.
RESERVED = frozenset({"messages", "model", "stream", "n", "tools", "stream_options"})


@dataclass(frozen=True, slots=True)
class DatasetConfig:
    """The settings of `import` and `datasets set`. None means: not said, so the default stands or nothing is sent."""

    model: str | None = None
    thinking: bool | None = None  # None: the model's own default, which for thinking models is on
    profile: str = "think"
    temperature: float | None = None
    top_p: float | None = None
    max_tokens: int | None = None
    extra: dict[str, Any] = field(default_factory=dict)  # further keys of the request body
    gate: int = 20
    min_capture: float = 0.95
    samples: int = 1  # answers a prompt, each a job of its own
    turns: str = "last"  # which answers of a conversation an import asks for: last, first or all

    def __post_init__(self) -> None:
        taken = sorted(RESERVED & self.extra.keys())
        if taken:
            raise UsageError(f"--extra must not set {', '.join(taken)}: thinkledger does that itself.")

    @property
    def expected(self) -> bool:
        """Whether an answer should hold reasoning: thinking was asked for, or not switched off."""
        return self.thinking is not False

    def to_json(self) -> str:
        """The stored form: only what was said."""
        default = DatasetConfig()
        said = {name: value for name, value in asdict(self).items() if value != getattr(default, name)}
        return json.dumps(said, sort_keys=True)

    @classmethod
    def from_json(cls, text: str) -> "DatasetConfig":
        """The settings as stored; an unknown key is an error, since it was written by another version."""
        stored = json.loads(text)
        unknown = sorted(stored.keys() - {known.name for known in fields(cls)})
        if unknown:
            raise UsageError(
                f"The store holds dataset settings of a newer version: {', '.join(unknown)}. Upgrade thinkledger."
            )
        return cls(**stored)

    def changed(self, **said: Any) -> "DatasetConfig":
        """The settings with those of `said` that are not None put in."""
        return replace(self, **{name: value for name, value in said.items() if value is not None})


def sampling(config: DatasetConfig, overrides: dict[str, Any]) -> dict[str, Any]:
    """The sampling keys of a request: what the row says, else the dataset, else the model card's values."""
    asked: dict[str, Any] = {
        "temperature": TEMPERATURE[config.expected] if config.temperature is None else config.temperature,
        "top_p": TOP_P if config.top_p is None else config.top_p,
    }
    if config.max_tokens is not None:
        asked["max_tokens"] = config.max_tokens
    return asked | config.extra | overrides
