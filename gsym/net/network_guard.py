"""Refuses connections to non-public addresses on behalf of others.

A URL from a client, or a redirect of a server, must not reach services that are only
visible to this machine or its network. Addresses are checked, not names: names are
resolved here, once.
"""

from __future__ import annotations

import ipaddress
import socket

from gsym.errors import GsymError

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

_REFUSED_V4 = tuple(
    (ipaddress.IPv4Network(network), kind)
    for network, kind in (
        ("0.0.0.0/8", "unspecified"),
        ("10.0.0.0/8", "private"),
        ("100.64.0.0/10", "shared"),  # carriers; also a cloud's metadata
        ("127.0.0.0/8", "loopback"),
        ("168.63.129.16/32", "cloud platform"),
        ("169.254.0.0/16", "link-local"),  # metadata of most clouds
        ("172.16.0.0/12", "private"),
        ("192.0.0.0/24", "reserved"),
        ("192.0.2.0/24", "documentation"),
        ("192.88.99.0/24", "6to4"),
        ("192.168.0.0/16", "private"),
        ("198.18.0.0/15", "benchmarking"),
        ("198.51.100.0/24", "documentation"),
        ("203.0.113.0/24", "documentation"),
        ("224.0.0.0/4", "multicast"),
        ("240.0.0.0/4", "reserved"),
    )
)
_REFUSED_V6 = tuple(
    (ipaddress.IPv6Network(network), kind)
    for network, kind in (
        ("::/128", "unspecified"),
        ("::1/128", "loopback"),
        ("::ffff:0:0/96", "IPv4-mapped"),
        ("::/96", "IPv4-compatible"),
        ("64:ff9b::/96", "NAT64"),
        ("64:ff9b:1::/48", "NAT64"),
        ("100::/64", "discard"),
        ("2001:db8::/32", "documentation"),
        ("2001::/32", "Teredo"),
        ("2001::/23", "reserved"),
        ("2002::/16", "6to4"),
        ("3fff::/20", "documentation"),
        ("fc00::/7", "private"),
        ("fe80::/10", "link-local"),
        ("fec0::/10", "site-local"),
        ("ff00::/8", "multicast"),
    )
)
_GLOBAL_UNICAST = ipaddress.IPv6Network("2000::/3")


class AddressRefusedError(GsymError):
    """The address may not be reached on behalf of others."""


def refusal_of(address: str) -> str:
    """The kind of an address that may not be reached; "" for one that may."""
    parsed = ipaddress.ip_address(address.partition("%")[0])
    refused = _REFUSED_V4 if parsed.version == 4 else _REFUSED_V6  # noqa: PLR2004
    for network, kind in refused:
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
