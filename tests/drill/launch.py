"""Run a command of the product under orders: `python -m tests.drill.launch claim.after 3 -- worker start ...`.

Without a point and a number it runs as it is; `--orders JSON` says everything that `orders.py` knows, `--broken NAME`
is a sabotage of `broken.py`. All of it is patched in from here: the product has no fail points.
"""

import argparse
import importlib
import os
import resource
import sys
from dataclasses import replace
from typing import Any

from tests.drill import patching
from tests.drill.broken import BROKEN
from tests.drill.orders import Orders
from tests.drill.points import arm


def main(argv: list[str]) -> int:
    """Obey, then run the command; its exit code."""
    ours, _, command = _split(argv)
    parser = argparse.ArgumentParser(prog="python -m tests.drill.launch", description=__doc__)
    parser.add_argument("point", nargs="?")
    parser.add_argument("nth", nargs="?", type=int, default=1)
    parser.add_argument("--orders", type=Orders.from_text, default=Orders())
    parser.add_argument("--broken", choices=sorted(BROKEN))
    said = parser.parse_args(ours)
    orders: Orders = said.orders
    if said.point is not None:
        orders = replace(orders, kill=(said.point, said.nth))
    if said.broken is not None:
        orders = replace(orders, broken=said.broken)
    obey(orders)
    return run(command)


def _split(argv: list[str]) -> tuple[list[str], str, list[str]]:
    at = argv.index("--") if "--" in argv else len(argv)
    return argv[:at], "--", argv[at + 1 :]


def run(command: list[str]) -> int:
    """The command line, as the console script runs it."""
    from worker.cli import call

    return call(command)


def obey(orders: Orders) -> None:
    """Change this process as ordered; call before anything of the product runs."""
    if orders.file_limit is not None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (orders.file_limit, resource.RLIM_INFINITY))
    for target, value in orders.constants.items():
        _set_constant(target, value)
    if orders.older_reader:
        patching.wrap("app.capture:read_body", _older)
    if orders.broken is not None:
        BROKEN[orders.broken]()
    if orders.kill is not None:
        arm(*orders.kill, on_server=orders.on_server)
    if orders.twice:
        _do_twice()
    if orders.journal is not None:
        _keep_journal(orders.journal)


def _set_constant(target: str, value: float | str) -> None:
    """A constant, also under its name in the modules that imported it."""
    module, _, name = target.partition(":")
    present = getattr(importlib.import_module(module), name)
    for loaded in list(sys.modules.values()):
        if getattr(loaded, "__dict__", {}).get(name) == present and loaded.__name__.startswith(("app.", "worker.")):
            setattr(loaded, name, value)


def _older(read: Any) -> Any:
    def read_body(*args: Any, **kwargs: Any) -> Any:
        reading = read(*args, **kwargs)
        return replace(reading, flags=reading.flags | {"older_reader"})

    return read_body


def _do_twice() -> None:
    doubled = (patching.find("app.responses.keep:keep"), patching.find("app.responses.read:settle"))

    def again(do: Any) -> Any:
        async def done(writer: Any, operation: Any, item: Any, **how: Any) -> Any:
            result = await do(writer, operation, item, **how)
            if operation in doubled:
                await do(writer, operation, item, **how)
            return result

        return done

    patching.wrap("app.store.writer:Writer.do", again)


def _keep_journal(path: str) -> None:
    """One line for every body of which the process was told that it is stored: job, attempt and hash."""
    keep = patching.find("app.responses.keep:keep")
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)

    def journalled(do: Any) -> Any:
        async def done(writer: Any, operation: Any, item: Any, **how: Any) -> Any:
            result = await do(writer, operation, item, **how)
            if operation is keep:
                lease = item.reply.lease
                os.write(descriptor, f"{lease.job} {lease.attempt} {item.packed.raw_sha256}\n".encode())
            return result

        return done

    patching.wrap("app.store.writer:Writer.do", journalled)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
