"""How many people may begin from one address within an hour: one client alone must not take a whole study.

Addresses are held in memory, for that hour, and written nowhere.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Iterable, Sequence
from ipaddress import IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network

from trueval.errors import DefinitionError
from trueval.study.storage import StudyFull

Network = IPv4Network | IPv6Network
WITHIN = 3600.0  # seconds
_MANY = 10_000  # addresses, from which on those of the last hour alone are looked for
_LOG = logging.getLogger("uvicorn.error")


class TooManyFromAddress(StudyFull):
    """As many people have begun from this address as the study allows within an hour."""


def networks(addresses: Iterable[str]) -> tuple[Network, ...]:
    """Addresses and networks of web servers in front of the study.

    >>> networks(["127.0.0.1", "10.1.0.0/16"])
    (IPv4Network('127.0.0.1/32'), IPv4Network('10.1.0.0/16'))
    """
    read = []
    for one in addresses:
        try:
            read.append(ip_network(one.strip(), strict=False))
        except ValueError:
            raise DefinitionError(
                "this is no address of a web server", where="--proxy", found=one,
                do="write its IP address (127.0.0.1), or a network (10.0.0.0/8)",
            ) from None  # fmt: skip
    return tuple(read)


def visitor_address(peer: str, forwarded: Sequence[str], proxies: Sequence[Network]) -> str:
    """The address of a visitor: of the connection, or, where that is a known proxy's, the one that the proxy saw.

    Each proxy adds to the right of X-Forwarded-For; what stands further left anybody can write.

    >>> visitor_address("127.0.0.1", ["6.6.6.6, 203.0.113.9"], networks(["127.0.0.1"]))
    '203.0.113.9'
    >>> visitor_address("203.0.113.9", ["6.6.6.6"], networks(["127.0.0.1"]))
    '203.0.113.9'
    """
    hops = [hop.strip() for line in forwarded for hop in line.split(",")]
    while hops and _is_in(peer, proxies):
        try:
            peer = str(ip_address(hops.pop()))
        except ValueError:
            break
    return _neighbourhood(peer)


def _is_in(address: str, proxies: Sequence[Network]) -> bool:
    try:
        parsed = ip_address(address)
    except ValueError:
        return False
    mapped = parsed.ipv4_mapped if isinstance(parsed, IPv6Address) else None
    return any((mapped or parsed) in network for network in proxies)


def _neighbourhood(address: str) -> str:
    """What counts as one address: with IPv6 the 64 bits of a network, of which one client has all addresses."""
    try:
        parsed = ip_address(address)
    except ValueError:
        return address
    if isinstance(parsed, IPv6Address):
        return str(parsed.ipv4_mapped or ip_network((parsed, 64), strict=False))
    return address


class AddressLimit:
    """Counts those who begin, by address; `most` of 0 is no limit."""

    def __init__(self, most: int, proxies: Sequence[Network] = ()) -> None:
        self.most, self.proxies = most, tuple(proxies)
        self._begun: dict[str, deque[float]] = {}
        self._lock = threading.Lock()
        self._warned: set[str] = set()

    def count(self, peer: str, forwarded: Sequence[str] = (), *, now: float | None = None) -> None:
        """Count one more from an address, or refuse them."""
        if not self.most:
            return
        now = time.monotonic() if now is None else now
        address = visitor_address(peer, forwarded, self.proxies)
        with self._lock:
            if len(self._begun) > _MANY:
                self._begun = {name: seen for name, seen in self._begun.items() if seen[-1] > now - WITHIN}
            times = self._begun.setdefault(address, deque())
            while times and times[0] <= now - WITHIN:
                times.popleft()
            if len(times) < self.most:
                times.append(now)
                return
        unnamed = bool(forwarded) and not _is_in(peer, self.proxies)
        self._warn(unnamed)
        raise TooManyFromAddress("too many people have begun from this address", do="raise per_address in [study]")

    def _warn(self, unnamed: bool) -> None:
        """Say once what whoever runs the study may have to change; never whose address it is."""
        text = f"{self.most} people began from one address within an hour; others from there are asked to come later "
        text += "(per_address in [study])"
        if unnamed:
            text += ". They seem to come through a web server in front: name it (trueval study serve --proxy ADDRESS)"
        if text not in self._warned:
            self._warned.add(text)
            _LOG.warning(text)
