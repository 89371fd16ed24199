"""`python -m worker.simulator`: serve until a signal comes."""

import sys
from collections.abc import Sequence

from worker.simulator.config import parse_args
from worker.simulator.server import serve


def main(arguments: Sequence[str]) -> int:
    """Exit status 1 when the address cannot be had, 2 for a wrong command line, 0 after a signal."""
    config = parse_args(arguments)
    try:
        serve(config)
    except OSError as error:
        print(f"cannot listen on {config.host}:{config.port}: {error}", file=sys.stderr)  # noqa: T201
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
