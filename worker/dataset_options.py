"""The settings of a dataset as options: the same for `import`, which may make it, and `datasets set`."""

from typing import Annotated, Any

import click
import typer

from worker.option_values import extra_keys, known_profile

Model = Annotated[str | None, typer.Option(help="The model to ask; without it the endpoint's only one.")]
MaxTokens = Annotated[int | None, typer.Option(min=1, help="Token limit of an answer.")]
Temperature = Annotated[float | None, typer.Option(min=0.0, help="Sampling temperature.")]
TopP = Annotated[float | None, typer.Option(min=0.0, max=1.0, help="Nucleus sampling.")]
Thinking = Annotated[
    str | None, typer.Option(click_type=click.Choice(["on", "off"]), help="Ask for thinking or for none.")
]
Profile = Annotated[str | None, typer.Option(help="How the model marks its reasoning, for example think.")]
Extra = Annotated[str | None, typer.Option(metavar="JSON", help="Further keys of the request body.")]
Gate = Annotated[
    int | None, typer.Option(min=0, help="Answers that the first check looks at; 20 unless set, 0 for none.")
]
MinCapture = Annotated[
    float | None, typer.Option(min=0.0, max=1.0, help="Share of them that must hold reasoning; 0.95 unless set.")
]
Rank = Annotated[int | None, typer.Option(help="Lower is asked first.")]
Turns = Annotated[
    str | None,
    typer.Option(
        click_type=click.Choice(["last", "first", "all"]),
        help="Which answers of a conversation are asked for: last (what stands before it is history), first, or all, "
        "one after another, each after the model's own answers; last unless set.",
    ),
]
MaxAttempts = Annotated[int | None, typer.Option(min=1, help="Tries a job may use up; 5 unless set.")]


def said(
    *,
    model: str | None,
    max_tokens: int | None,
    temperature: float | None,
    top_p: float | None,
    thinking: str | None,
    profile: str | None,
    extra: str | None,
    gate: int | None,
    min_capture: float | None,
    samples: int | None = None,
    turns: str | None = None,
) -> dict[str, Any]:
    """The settings of `DatasetConfig` that were said, in its words."""
    values = {
        "model": model, "max_tokens": max_tokens, "temperature": temperature, "top_p": top_p,
        "thinking": None if thinking is None else thinking == "on", "profile": known_profile(profile),
        "extra": extra_keys(extra), "gate": gate, "min_capture": min_capture, "samples": samples,
        "turns": turns,
    }  # fmt: skip
    return {setting: value for setting, value in values.items() if value is not None}
