"""Refuses connections to non-public addresses on behalf of others.

A URL from a client, or a redirect of a server, must not reach services that are only
visible to this machine or its network. Addresses are checked, not names: names are
resolved here, once.
"""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Callable
from typing import Any

from gsym.errors import GsymError

# Networks by kind; the first that has an address counts.
_REFUSED = {
    "unspecified": ("0.0.0.0/8", "::/128"),
    "private": ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "fc00::/7"),
    "shared": ("100.64.0.0/10",),  # carriers; also a cloud's metadata
    "loopback": ("127.0.0.0/8", "::1/128"),
    "cloud platform": ("168.63.129.16/32",),
    "link-local": ("169.254.0.0/16", "fe80::/10"),  # metadata of most clouds
    "documentation": (
        *("192.0.2.0/24", "198.51.100.0/24", "203.0.113.0/24"),
        *("2001:db8::/32", "3fff::/20"),
    ),
    "6to4": ("192.88.99.0/24", "2002::/16"),
    "benchmarking": ("198.18.0.0/15",),
    "multicast": ("224.0.0.0/4", "ff00::/8"),
    "IPv4-mapped": ("::ffff:0:0/96",),
    "IPv4-compatible": ("::/96",),
    "NAT64": ("64:ff9b::/96", "64:ff9b:1::/48"),
    "discard": ("100::/64",),
    "Teredo": ("2001::/32",),
    "site-local": ("fec0::/10",),
    "reserved": ("192.0.0.0/24", "240.0.0.0/4", "2001::/23"),
}
_NETWORKS = [
    (ipaddress.ip_network(network), kind)
    for kind, networks in _REFUSED.items()
    for network in networks
]
_GLOBAL_UNICAST = ipaddress.IPv6Network("2000::/3")


class AddressRefusedError(GsymError):
    """The address may not be reached on behalf of others."""


def refusal_of(address: str) -> str:
    """The kind of an address that may not be reached; "" for one that may."""
    parsed = ipaddress.ip_address(address.partition("%")[0])
    for network, kind in _NETWORKS:
        if parsed in network:
            return kind
    if parsed.version == 6 and parsed not in _GLOBAL_UNICAST:  # noqa: PLR2004
        return "reserved"
    return ""


def public_addresses(
    host: str, port: int, resolve: Callable[..., list[Any]] = socket.getaddrinfo
) -> list[str]:
    """The addresses of a host, if all of them are public.

    A single non-public address is refused, as nobody mixes them by accident.

    Raises:
        AddressRefusedError: One of the addresses may not be reached.
        OSError: The name cannot be resolved.
    """
    try:
        found = resolve(host, port, type=socket.SOCK_STREAM)
    except UnicodeError as error:
        raise AddressRefusedError(f"{host!r} is not a host name") from error
    addresses = list(dict.fromkeys(str(each[4][0]) for each in found))
    for address in addresses:
        kind = refusal_of(address)
        if kind:
            shown = address if address == host else f"{host} ({address})"
            raise AddressRefusedError(f"{shown} is a {kind} address")
    return addresses
