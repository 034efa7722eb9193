"""The headers of a request, as they are sent."""

from __future__ import annotations

from gsym import __version__

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from gsym.store.net.web_address import WebAddress


def request_headers(
    address: WebAddress, headers: Iterable[tuple[str, str]]
) -> list[tuple[str, str]]:
    """(name, value) of all headers in order: *headers*, and those of every request.

    Args:
        address: What is asked for.
        headers: With a User-Agent, or that of this package is added.
    """
    sent = [("Host", address.host_header), ("Accept", "*/*"), *headers]
    if all(name.lower() != "user-agent" for name, _ in sent):
        sent.append(("User-Agent", f"gsym/{__version__}"))
    return sent
