"""What the tests of the store run in other processes: `python -m tests.integration.store.processes VERB ARGS`."""

import os
import sys
import traceback
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from app.leasing import locks
from app.model.errors import ThinkledgerError
from app.store import migrations  # noqa: F401 - a child under another uid could not import it any more
from app.store.address import is_address
from app.store.codec import pack, unpack
from app.store.store import Store
from tests.integration.store import kit, raw
from tests.support.postgres import plainly


async def _identity(store: Store) -> str:
    return store.store_id


def create_together(folder: str, rounds: str, processes: str) -> None:
    """In each round, so many processes open the same new store at once. Prints each round's ids, one for all."""
    for number in range(int(rounds)):
        path = Path(folder) / f"{number}.db"
        go, gate = os.pipe()
        results, result = os.pipe()
        children = [_opener(path, (go, gate), result) for _ in range(int(processes))]
        os.close(go)
        os.close(gate)  # the end of the pipe starts them all
        os.close(result)
        codes = [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]
        with os.fdopen(results) as said:
            sys.stdout.write(f"{codes} {said.read().split()}\n")


def _opener(path: Path, gate: tuple[int, int], result: int) -> int:
    child = os.fork()
    if child:
        return child
    code = 1
    try:
        os.close(gate[1])
        os.read(gate[0], 1)
        os.write(result, f"{kit.in_store(path, _identity)}\n".encode())
        code = 0
    except BaseException:
        traceback.print_exc()
        raise
    finally:
        os._exit(code)


def create(path: str) -> None:
    """Make a store and say so."""
    sys.stdout.write("making\n")
    sys.stdout.flush()
    kit.make(Path(path))
    sys.stdout.write("made\n")


def hold(db: str) -> None:
    """Hold the write lock until a line comes."""
    with plainly(db) if is_address(db) else raw.connection(db) as opened:
        if is_address(db):
            opened.execute("BEGIN")
            opened.execute("LOCK TABLE gate IN SHARE ROW EXCLUSIVE MODE")  # as who is alone takes it
        else:
            opened.execute("PRAGMA busy_timeout=60000")  # a worker may be committing without a pause
            opened.execute("BEGIN EXCLUSIVE")
        sys.stdout.write("held\n")
        sys.stdout.flush()
        sys.stdin.readline()
        opened.execute("ROLLBACK")
    sys.stdout.write("released\n")


def pack_in_threads(count: str) -> None:
    """Pack and unpack in several threads at once; a shared compressor would end the process by a signal."""

    def round_trip(number: int) -> bool:
        body = b"".join(b"%d,%d;" % (number, place * number) for place in range(20_000))
        packed = pack(body)
        return packed.codec == "zstd" and unpack(packed.codec, packed.raw) == body

    with ThreadPoolExecutor(4) as threads:
        sys.stdout.write(f"{all(threads.map(round_trip, range(int(count))))}\n")


def open_as(uid: str, path: str) -> None:
    """Open a store as another user, for whom permissions count; prints the kind of error."""
    os.setuid(int(uid))
    try:
        kit.make(Path(path))
    except ThinkledgerError as error:
        sys.stdout.write(f"{type(error).__name__}\n")
    else:
        sys.stdout.write("opened\n")


def hold_lock(folder: str, uuid: str) -> None:
    """Hold a worker's lock until a line comes."""
    lock = locks.take(Path(folder), uuid)
    sys.stdout.write("holds\n")
    sys.stdout.flush()
    sys.stdin.readline()
    lock.free()


VERBS = {
    "hold_lock": hold_lock,
    "create_together": create_together,
    "create": create,
    "hold": hold,
    "pack_in_threads": pack_in_threads,
    "open_as": open_as,
}

if __name__ == "__main__":
    VERBS[sys.argv[1]](*sys.argv[2:])
