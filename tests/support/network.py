"""Hosts on one machine: network namespaces and cables between them, which can be pulled and can lose what is sent.

Everything lies in a namespace of the test's own and is gone with its last process; nothing of the machine is touched.
"""

import ctypes
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Self

_NEW_NETWORK = 0x40000000  # CLONE_NEWNET, sched.h
_HERE = Path("/proc/thread-self/ns/net")
# A bucket that is smaller than any packet drops them all, and every kernel has it; netem is often left out.
_DROP = ("root", "tbf", "rate", "8bit", "burst", "1", "limit", "1")


def why_no_networks() -> str | None:
    """Why no namespaces with cables can be made here; None where they can."""
    if os.geteuid() != 0:
        return "network namespaces are made by root alone"
    missing = [tool for tool in ("ip", "tc", "nsenter", "unshare") if shutil.which(tool) is None]
    if missing:
        return f"there is no {' and no '.join(missing)} here"
    tried = subprocess.run(
        ["unshare", "-n", "sh", "-c", f"ip link add tried type veth peer name other && {_words(_drop('tried'))}"],
        capture_output=True, check=False,
    )  # fmt: skip
    return None if tried.returncode == 0 else f"no network of its own: {tried.stderr.decode().strip()}"


def _drop(device: str) -> list[str]:
    return ["tc", "qdisc", "add", "dev", device, *_DROP]


def _words(command: list[str]) -> str:
    return " ".join(command)


@contextmanager
def own_network() -> Iterator[None]:
    """This thread, and the processes and threads that it starts, in a network that nobody else sees."""
    libc = ctypes.CDLL(None, use_errno=True)
    before = os.open(_HERE, os.O_RDONLY)
    try:
        if libc.unshare(_NEW_NETWORK) != 0:
            raise OSError(ctypes.get_errno(), "unshare")
        _do("ip", "link", "set", "lo", "up")
        yield
    finally:
        if libc.setns(before, _NEW_NETWORK) != 0:
            raise OSError(ctypes.get_errno(), "setns")
        os.close(before)


def _do(*command: str) -> None:
    subprocess.run(command, check=True, capture_output=True)


@dataclass(frozen=True, slots=True)
class Cable:
    """A way between this network and a host's: the device at either end, and the address of this end."""

    here: str
    there: str
    address: str
    enter: tuple[str, ...]  # what runs a command at the other end

    def lay(self, holder: int) -> None:
        """Make it and its two addresses."""
        net = self.address.rpartition(".")[0]
        _do("ip", "link", "add", self.here, "type", "veth", "peer", "name", self.there, "netns", str(holder))
        _do("ip", "addr", "add", f"{self.address}/24", "dev", self.here)
        _do("ip", "link", "set", "dev", self.here, "up")
        _do(*self.enter, "ip", "addr", "add", f"{net}.2/24", "dev", self.there)
        _do(*self.enter, "ip", "link", "set", "dev", self.there, "up")

    @contextmanager
    def pulled(self) -> Iterator[None]:
        """No carrier at the host's end: what it sends goes nowhere."""
        _do("ip", "link", "set", "dev", self.here, "down")
        try:
            yield
        finally:
            _do("ip", "link", "set", "dev", self.here, "up")

    @contextmanager
    def switched_off(self) -> Iterator[None]:
        """The host's own device is down: it is told at once that the network cannot be reached."""
        _do(*self.enter, "ip", "link", "set", "dev", self.there, "down")
        try:
            yield
        finally:
            _do(*self.enter, "ip", "link", "set", "dev", self.there, "up")

    @contextmanager
    def losing(self) -> Iterator[None]:
        """Every packet is dropped both ways, and nobody is told."""
        _do(*_drop(self.here))
        _do(*self.enter, *_drop(self.there))
        try:
            yield
        finally:
            _do("tc", "qdisc", "del", "dev", self.here, "root")
            _do(*self.enter, "tc", "qdisc", "del", "dev", self.there, "root")

    @property
    def cuts(self) -> dict[str, Callable[[], AbstractContextManager[None]]]:
        """The ways in which it can be cut, by name."""
        return {"pulled": self.pulled, "switched off": self.switched_off, "losing": self.losing}


class Host:
    """A namespace with one cable to the database and one to the model server; it lasts until `close`."""

    def __init__(self, number: int) -> None:
        self.number = number
        self._holder = subprocess.Popen(  # it reads what never comes, and ends with us
            ["unshare", "-n", "sh", "-c", "ip link set lo up && echo up && exec cat"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        )  # fmt: skip
        assert self._holder.stdout is not None
        assert self._holder.stdout.readline() == b"up\n"
        self.enter = ("nsenter", "-t", str(self._holder.pid), "-n")
        self.to_database = self._cable("database", 77)
        self.to_model = self._cable("model", 78)

    def _cable(self, name: str, net: int) -> Cable:
        cable = Cable(f"{name}{self.number}", f"{name}0", f"10.{net}.{self.number}.1", self.enter)
        cable.lay(self._holder.pid)
        return cable

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the namespace, once its processes have ended."""
        self._holder.communicate()
