"""The tags of each model family, as data."""

from dataclasses import dataclass

from app.model.errors import UsageError


@dataclass(frozen=True, slots=True)
class Profile:
    """How a model family marks its thought.

    `prompt_opens` says that the chat template writes the open tag at the end of the prompt, so that an answer
    normally starts inside the thought and only the close tag is certain.
    """

    name: str
    open: str
    close: str
    prompt_opens: bool = False

    def tagged(self, text: str) -> bool:
        """Whether either tag occurs anywhere in `text`."""
        return self.close in text or self.open in text


HARMONY = "harmony"

PROFILES: dict[str, Profile] = {
    profile.name: profile
    for profile in (
        Profile("think", "<think>", "</think>", prompt_opens=True),  # Kimi-K2.5, DeepSeek-R1, Qwen3
        Profile("kimi_vl", "◁think▷", "◁/think▷"),
        Profile("mistral", "[THINK]", "[/THINK]"),
        Profile("seed", "<seed:think>", "</seed:think>"),
        Profile("thinking", "<thinking>", "</thinking>"),
        Profile("kimi_k3", "<|open|>think<|sep|>", "<|close|>think<|sep|>", prompt_opens=True),
        Profile(HARMONY, "<|channel|>analysis<|message|>", "<|end|>"),  # gpt-oss: channels, read by harmony.py
    )
}


def profile_named(name: str) -> Profile:
    """The profile of that name; UsageError when there is none."""
    try:
        return PROFILES[name]
    except KeyError:
        raise UsageError(f"Unknown profile {name!r}. Known ones: {', '.join(PROFILES)}.") from None
