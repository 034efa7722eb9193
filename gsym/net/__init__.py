"""The HTTP client: guarded connections, limits, retries, downloads."""

from __future__ import annotations

from gsym import import_module
from gsym.errors import UnsupportedError

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from typing import Any

    from gsym.net.connections import Connections
    from gsym.net.limits import TransferLimits


def import_net(name: str, user: str) -> Any:
    """A module that needs the extra `net`; the *user* of it is named by the error.

    Raises:
        UnsupportedError: The extra `net` is not installed.
    """
    try:
        return import_module(name)
    except ImportError:
        reason = f"{user} needs the package httpx2: pip install 'gsym[net]'"
        raise UnsupportedError(reason) from None


def open_connections(user: str, limits: TransferLimits, **options: Any) -> Connections:
    """New `Connections`; errors are those of `import_net`."""
    made: Connections
    made = import_net("gsym.net.connections", user).Connections(limits, **options)
    return made
