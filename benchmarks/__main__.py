"""`python -m benchmarks`: every experiment and one table; `--quick C D`: two of them, at sizes of seconds.

Those of a store on a PostgreSQL server are run where they are named: `python -m benchmarks PG1 PG2`.

`python -m benchmarks parser` and `pages --jobs 3000000` print more about these two than the table has room for.
"""

import argparse
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from benchmarks import experiments, pages, parser
from benchmarks.figure import Figure, table, write_json
from benchmarks.scale import FULL, QUICK


def main(argv: Sequence[str]) -> int:
    """Measure and print; the exit status tells only whether it could be measured."""
    if argv and argv[0] in ("parser", "pages"):
        return _one_of_these(argv)
    said = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    said.add_argument("experiments", nargs="*", metavar="EXPERIMENT", help=", ".join(experiments.NAMES))
    said.add_argument("--quick", action="store_true", help="sizes of seconds: whether it runs, not how fast it is")
    said.add_argument("--json", type=Path, default=Path("build/benchmarks.json"), help="default: %(default)s")
    chosen = said.parse_args(argv)
    unknown = set(chosen.experiments) - set(experiments.NAMES)
    if unknown:
        said.error(f"no experiment {', '.join(sorted(unknown))}; there are {', '.join(experiments.NAMES)}")
    chosen.json.parent.mkdir(parents=True, exist_ok=True)
    figures, begun = [], time.monotonic()
    usual = [name for name in experiments.NAMES if name not in experiments.BY_NAME_ALONE]
    for found in measure(chosen.experiments or usual, quick=chosen.quick):
        figures += found
        write_json(figures, chosen.json, quick=chosen.quick)  # after each: one that breaks takes no other along
    print(table(figures))
    print(f"{(time.monotonic() - begun) / 60:.1f} minutes", file=sys.stderr)
    return 0


def measure(names: Sequence[str], *, quick: bool) -> Iterator[list[Figure]]:
    """The figures of some experiments, one after the other; how long each took goes to stderr."""
    for name in names:
        begun = time.monotonic()
        with tempfile.TemporaryDirectory(prefix="bench-") as folder:
            figures = experiments.measure_of(name)(QUICK if quick else FULL, Path(folder))
        print(f"{name}: {time.monotonic() - begun:.0f} s", file=sys.stderr, flush=True)
        yield figures


def _one_of_these(argv: Sequence[str]) -> int:
    said = argparse.ArgumentParser(prog="python -m benchmarks")
    which = said.add_subparsers(dest="which")
    which.add_parser("parser", help="what a body takes, against an ordinary one of its size")
    of_pages = which.add_parser("pages", help="pages with open tabs beside a busy worker, and what they cost it")
    of_pages.add_argument("--jobs", type=int, default=30_000, help="prompts in the store (default: %(default)s)")
    of_pages.add_argument("--tabs", type=int, default=20, help="open tabs (default: %(default)s)")
    of_pages.add_argument(
        "--seconds", type=float, default=30, help="how long, with tabs and without (default: %(default)s)"
    )
    of_pages.add_argument("--folder", type=Path, help="where the store is filled and kept, or was before")
    chosen = said.parse_args(argv)
    if chosen.which == "parser":
        parser.measure()
    else:
        pages.measure(chosen.jobs, chosen.tabs, chosen.seconds, chosen.folder)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
