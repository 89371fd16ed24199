"""`thinkledger simulate`: a server without a model, to try everything on."""

from typing import Annotated

import typer

from app.model.errors import Unavailable


def register(app: typer.Typer) -> None:
    app.command("simulate", help=HELP)(simulate)


HELP = """Run the simulator: an OpenAI-compatible server without a model, with every way a real one fails.

Example: thinkledger simulate --port 30000 --persona sglang --fault http_503@first:3
"""


def simulate(
    port: Annotated[int, typer.Option(min=0, max=65535, help="0 takes a free one and prints it.")] = 30000,
    persona: Annotated[
        str, typer.Option(help="How it answers: sglang, sglang_parser, vllm, no_thought ...")
    ] = "sglang",
    fault: Annotated[
        list[str] | None,
        typer.Option(metavar="PERSONA@RULE", help="Another persona on order: every:7, first:3, after:100 ..."),
    ] = None,
    latency: Annotated[str, typer.Option(help="0, fixed:S, uniform:A,B or lognormal:MEDIAN,SIGMA (seconds).")] = "0",
    slots: Annotated[int | None, typer.Option(min=1, help="Answers generated at once; others queue.")] = None,
    answer_bytes: Annotated[int, typer.Option(min=200, help="About how long an answer is.")] = 4096,
) -> None:
    """Serve until stopped."""
    from worker.simulator.config import parse_args
    from worker.simulator.server import serve

    args = ["--port", str(port), "--persona", persona, "--latency", latency, "--answer-bytes", str(answer_bytes)]
    args += [] if slots is None else ["--slots", str(slots)]
    for one in fault or []:
        args += ["--fault", one]
    try:
        serve(parse_args(args))
    except OSError as error:
        raise Unavailable(
            f"127.0.0.1:{port} cannot be bound ({error.strerror}). Choose another with --port."
        ) from error
