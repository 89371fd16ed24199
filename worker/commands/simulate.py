"""`thinkledger simulate`: a server without a model, to try everything on."""

from typing import Annotated

import typer

from app.model.errors import Unavailable, UsageError

# Written out, since importing the simulator would make every help text slower; a test compares them.
PERSONAS = """
abort big_body blank_field cut_json dies disconnect drops_all empty_thought error_200 garbage hang hang_all
health_503 html_200 http_400 http_401 http_404_model http_413 http_422 http_429 http_429_bare http_500
http_502 http_503 http_503_wait http_504 loses_reasoning_after no_reasoning_parser no_thought sglang
sglang_parser slow tool_calls truncated vllm
"""


def register(app: typer.Typer) -> None:
    app.command("simulate", help=HELP, epilog=f"Personas: {', '.join(PERSONAS.split())}.")(simulate)


HELP = """Run the simulator: an OpenAI-compatible server without a model, with every way a real one fails.
"""


def simulate(
    port: Annotated[int, typer.Option(min=0, max=65535, help="0 takes a free one and prints it.")] = 30000,
    persona: Annotated[str, typer.Option(help="How it answers; all are listed below.")] = "sglang",
    fault: Annotated[
        list[str] | None,
        typer.Option(metavar="PERSONA@RULE", help="Another persona on order: every:7, first:3, after:100 ..."),
    ] = None,
    latency: Annotated[str, typer.Option(help="0, fixed:S, uniform:A,B or lognormal:MEDIAN,SIGMA (seconds).")] = "0",
    slots: Annotated[int | None, typer.Option(min=1, help="Answers generated at once; others queue.")] = None,
    answer_bytes: Annotated[int, typer.Option(min=200, help="About how long an answer is.")] = 4096,
) -> None:
    """Serve until stopped."""
    from worker.simulator.config import Config
    from worker.simulator.server import serve

    try:
        config = Config(
            port=port, persona=persona, faults=tuple(fault or ()), latency=latency, slots=slots,
            answer_bytes=answer_bytes,
        )  # fmt: skip
    except ValueError as error:
        raise UsageError(f"{error}. `thinkledger simulate --help` shows what can be said.") from error
    try:
        serve(config)
    except OSError as error:
        raise Unavailable(
            f"127.0.0.1:{port} cannot be bound ({error.strerror}). Choose another with --port."
        ) from error
