"""What this machine and this version offer a scenario; each function says why not, where it is not there."""

import ctypes.util
import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

LIBFAKETIME = (
    "/usr/lib/x86_64-linux-gnu/faketime/libfaketime.so.1",
    "/usr/lib/aarch64-linux-gnu/faketime/libfaketime.so.1",
    "/usr/lib/faketime/libfaketime.so.1",
)


def libfaketime() -> str | None:
    """The path of the library."""
    return next((path for path in LIBFAKETIME if Path(path).exists()), ctypes.util.find_library("faketime"))


def needs_faketime() -> str | None:
    return None if libfaketime() else "libfaketime is not installed (Debian: apt-get install faketime)"


def needs_root() -> str | None:
    """Mounts are made by root alone."""
    if os.geteuid() != 0:
        return "not root, and a small tmpfs has to be mounted"
    if shutil.which("mount") is None:
        return "there is no `mount` here"
    return None


def needs_namespaces() -> str | None:
    """A mount namespace of its own."""
    if os.geteuid() != 0 or shutil.which("unshare") is None:
        return "not root, or no `unshare`"
    tried = subprocess.run(["unshare", "-m", "true"], capture_output=True, check=False)
    return None if tried.returncode == 0 else "mount namespaces are forbidden here"


IDLE_ENOUGH = 0.7


def idle_share(seconds: float = 1.0) -> float:
    """How much of the machine nobody uses now; 1.0 where the system does not tell."""
    before, at = _idle_ticks(), time.monotonic()
    time.sleep(seconds)
    ticks = (time.monotonic() - at) * os.sysconf("SC_CLK_TCK") * (os.cpu_count() or 1)
    return 1.0 if before is None else ((_idle_ticks() or 0) - before) / ticks


def _idle_ticks() -> int | None:
    stat = Path("/proc/stat")
    return int(stat.read_text().split("\n", 1)[0].split()[4]) if stat.exists() else None


@contextmanager
def small_disk(folder: Path, mebibytes: int) -> Iterator[Path]:
    """A tmpfs of that size."""
    folder.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={mebibytes}m", "tmpfs", str(folder)], check=True)
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)
