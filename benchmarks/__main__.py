"""`python -m benchmarks`: all at small sizes; `python -m benchmarks pages --jobs 3000000`: one at a large one."""

import argparse
import sys
from collections.abc import Sequence

from benchmarks import pages, parser


def main(argv: Sequence[str]) -> int:
    """Measure and print; the exit status tells only whether it could be measured."""
    said = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    which = said.add_subparsers(dest="which")
    which.add_parser("parser", help="what a body takes, against an ordinary one of its size")
    of_pages = which.add_parser("pages", help="pages with open tabs beside a busy worker, and what they cost it")
    of_pages.add_argument("--jobs", type=int, default=30_000, help="prompts in the store (default: %(default)s)")
    of_pages.add_argument("--tabs", type=int, default=20, help="open tabs (default: %(default)s)")
    of_pages.add_argument(
        "--seconds", type=float, default=30, help="how long, with tabs and without (default: %(default)s)"
    )
    chosen = said.parse_args(argv)
    if chosen.which in (None, "parser"):
        parser.measure()
    if chosen.which is None:
        chosen = said.parse_args(["pages"])
    if chosen.which == "pages":
        pages.measure(chosen.jobs, chosen.tabs, chosen.seconds)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
