"""Which machine a name may stand for: only one of the public Internet.

A page or a redirect chooses where we go next. It must not lead to this machine, its network or the
cloud's metadata service, by whatever spelling of an address.
"""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from retrieval.records import Unavailable

WEB_PORTS = (80, 443)
_GLOBAL_UNICAST = ipaddress.IPv6Network("2000::/3")
# These carry an IPv4 address that a router may unpack.
_TUNNELS = tuple(map(ipaddress.IPv6Network, ("2001::/32", "2002::/16")))
# Services of networks and clouds to their own machines, which some versions of Python take for public.
_NEVER_PUBLIC = tuple(map(ipaddress.IPv4Network, ("192.0.0.0/24", "192.88.99.0/24", "168.63.129.16/32")))


@dataclass(frozen=True)
class Endpoint:
    """Where a connection goes, whatever the name server says by then: the first address that takes it."""

    addresses: tuple[str, ...]
    port: int


Resolver = Callable[[str, int], Endpoint | Unavailable]
"""From a host's name and port to where the connection is to go, or why it may not be made."""


def is_public(address: str) -> bool:
    """Whether an IPv4 or IPv6 address in its usual spelling is one of the public Internet."""
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return False
    if not parsed.is_global or parsed.is_multicast:
        return False
    if isinstance(parsed, ipaddress.IPv4Address):
        return not any(parsed in network for network in _NEVER_PUBLIC)
    return parsed in _GLOBAL_UNICAST and not any(parsed in tunnel for tunnel in _TUNNELS)


def public_endpoint(
    host: str, port: int, look_up: Callable[..., list[tuple[Any, ...]]] = socket.getaddrinfo
) -> Endpoint | Unavailable:
    """The addresses of `host`, where all are public and `port` is one of the web."""
    if port not in WEB_PORTS:
        return Unavailable("bad-url", f"port {port} is not one of the web")
    addresses = _addresses(host, port, look_up)
    if isinstance(addresses, Unavailable):
        return addresses
    if private := [address for address in addresses if not is_public(address)]:
        return Unavailable("not-public", f"{host} is {private[0]}, which is not a public address")
    return Endpoint(addresses, port)


def trusting(named: str) -> Resolver:
    """A resolver for a host that the user named, which may well be this machine, and for public ones."""

    def resolve(host: str, port: int) -> Endpoint | Unavailable:
        if host != named:
            return public_endpoint(host, port)
        addresses = _addresses(host, port, socket.getaddrinfo)
        return addresses if isinstance(addresses, Unavailable) else Endpoint(addresses, port)

    return resolve


def _addresses(
    host: str, port: int, look_up: Callable[..., list[tuple[Any, ...]]]
) -> tuple[str, ...] | Unavailable:
    try:
        found = look_up(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        return Unavailable("unknown-host", f"{host} has no address ({error})")
    return tuple(str(entry[4][0]) for entry in found) or Unavailable("unknown-host", f"{host} has no address")
