"""Which Host headers mean this server: a page of another site whose name is made to point here must get nothing."""

import ipaddress
from dataclasses import dataclass

LOOPBACK_NAMES = frozenset({"localhost", "127.0.0.1", "::1"})
_WILDCARDS = frozenset({"", "0.0.0.0", "::"})  # noqa: S104 - recognised, not bound


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach a server that is bound there."""
    if host in LOOPBACK_NAMES:
        return True
    address = _address(host)
    return address is not None and address.is_loopback


@dataclass(frozen=True, slots=True)
class Hosts:
    """The names of a server: loopback ones, the address it is bound to, and those that were allowed."""

    bound: str
    allowed: frozenset[str] = frozenset()

    def accept(self, header: str | None) -> bool:
        """Whether a Host header is one of them; the port does not matter."""
        if header is None:
            return False
        name = host_of(header)
        if name in LOOPBACK_NAMES or name == self.bound or name in self.allowed:
            return True
        # Bound everywhere, any address may be ours. A rebinding page always comes under a name, never an address.
        return self.bound in _WILDCARDS and _address(name) is not None


def host_of(header: str) -> str:
    """The host of a Host header, lower case, without port and brackets."""
    header = header.strip().lower()
    if header.startswith("["):
        return header[1:].partition("]")[0]
    return header.partition(":")[0]


def _address(name: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(name)
    except ValueError:
        return None
