"""The HTTP client: guarded connections, limits, retries, downloads."""

from __future__ import annotations

from gsym.errors import UnsupportedError

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from typing import Any

    from gsym.net.connections import Connections
    from gsym.net.limits import TransferLimits


def import_httpx2(user: str) -> Any:
    """The package for HTTP; the *user* of it is named by the error.

    Raises:
        UnsupportedError: The extra `net` is not installed.
    """
    try:
        import httpx2
    except ImportError:
        reason = f"{user} needs the package httpx2: pip install 'gsym[net]'"
        raise UnsupportedError(reason) from None
    return httpx2


def open_connections(user: str, limits: TransferLimits, **options: Any) -> Connections:
    """New `Connections`, after `import_httpx2`."""
    import_httpx2(user)
    from gsym.net.connections import Connections

    return Connections(limits, **options)
