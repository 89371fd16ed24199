"""How a simulator is started: one frozen object, read from the command line once."""

import argparse
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from worker.simulator import faults, latency
from worker.simulator.answers import DEFAULT_ANSWER_BYTES
from worker.simulator.faults import parse_fault
from worker.simulator.latency import parse_latency
from worker.simulator.personas import PERSONAS, persona_named

LOOPBACK = "127.0.0.1"
DESCRIPTION = "A protocol-true, OpenAI-compatible server without a model, for demonstrations and tests."


@dataclass(frozen=True, slots=True)
class Config:
    """Everything that a simulator is told at its start."""

    host: str = LOOPBACK
    port: int = 0  # 0: any free one
    persona: str = "sglang"
    faults: tuple[str, ...] = ()
    latency: str = "0"
    slots: int | None = None  # None: as many as come
    answer_bytes: int = DEFAULT_ANSWER_BYTES
    model: str = "kimi-k2.5"
    context_length: int = 262_144
    api_key: str | None = None
    admin_api_key: str | None = None
    record: str | None = None  # a file to which every chat request is added as it came

    def __post_init__(self) -> None:
        """A configuration that cannot be played is a ValueError here, not at the first request."""
        persona_named(self.persona)
        parse_latency(self.latency)
        for fault in self.faults:
            parse_fault(fault)
        if self.slots is not None and self.slots < 1:
            raise ValueError("slots must be at least 1")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of a simulator; the names are those of `Config`."""
    default = Config()
    parser.add_argument("--host", default=default.host, help="address to listen on (default: %(default)s)")
    parser.add_argument("--port", type=int, default=default.port, help="port to listen on; 0 takes a free one")
    parser.add_argument(
        "--persona",
        type=_checked(persona_named),
        default=default.persona,
        help=f"how the server behaves (default: %(default)s): {', '.join(sorted(PERSONAS))}",
    )
    parser.add_argument(
        "--fault",
        dest="faults",
        metavar="FAULT",
        type=_checked(parse_fault),
        action="append",
        default=[],
        help=_help(faults.GRAMMAR),
    )
    parser.add_argument("--latency", type=_checked(parse_latency), default=default.latency, help=_help(latency.GRAMMAR))
    parser.add_argument("--slots", type=_slots, default=default.slots, help="answers generated at once (default: all)")
    parser.add_argument("--answer-bytes", type=int, default=default.answer_bytes, help="mean size of an answer")
    parser.add_argument("--model", default=default.model, help="name under /v1/models (default: %(default)s)")
    parser.add_argument("--context-length", type=int, default=default.context_length, help="tokens (two bytes each)")
    parser.add_argument("--api-key", default=default.api_key, help="ask for this key")
    parser.add_argument("--record", default=default.record, help="add each chat request to this file, a line each")
    parser.add_argument("--admin-api-key", default=default.admin_api_key, help="shown by /server_info, as real ones do")


def parse_args(argv: Sequence[str]) -> Config:
    """The configuration that a command line names; a wrong one ends the process with status 2 and the reason."""
    parser = argparse.ArgumentParser(prog="python -m worker.simulator", description=DESCRIPTION, allow_abbrev=False)
    add_arguments(parser)
    values = vars(parser.parse_args(argv))
    return Config(**values | {"faults": tuple(values["faults"])})


def _checked(parse: Callable[[str], object]) -> Callable[[str], str]:
    def check(text: str) -> str:
        try:
            parse(text)
        except ValueError as error:
            raise argparse.ArgumentTypeError(str(error)) from error
        return text

    return check


def _slots(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError("slots must be at least 1")
    return number


def _help(text: str) -> str:
    return text.replace("%", "%%")
