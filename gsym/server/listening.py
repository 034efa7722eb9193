"""Where a server listens.

Workers have a socket each, among which the kernel spreads connections. Of one that they
share, the first to wake would take all connections that come at once, and keep them.
"""

from __future__ import annotations

import socket
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from gsym.server.settings import Settings

_BACKLOG = 2048
# Elsewhere the last socket may get all connections.
_CAN_SPREAD = sys.platform == "linux"


def bind(settings: Settings) -> socket.socket:
    """A socket where the settings say: it listens, or is to be handed to workers.

    Raises:
        OSError: The address is in use, or none of this machine.
    """
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    address = (settings.host, settings.port)
    try:
        listener = _bound(socket.socket, family, address)
        if settings.workers == 1 or not _CAN_SPREAD:
            listener.listen(_BACKLOG)
            return listener
        # Sockets that spread connections do not tell that the address is in use.
        address = listener.getsockname()
        listener.close()
        return _bound(WorkerSocket, family, address)
    except OSError as error:
        where = f"{settings.host}:{settings.port}"
        raise OSError(error.errno, error.strerror, where) from None


class WorkerSocket(socket.socket):
    """A socket that becomes another one in each process it is handed to."""

    def __reduce__(self) -> tuple[Callable[..., socket.socket], tuple[object, ...]]:
        return _bound, (WorkerSocket, self.family, self.getsockname())


def _bound(
    kind: type[socket.socket], family: int, address: tuple[object, ...]
) -> socket.socket:
    listener = kind(family, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if kind is WorkerSocket:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        listener.bind(address)
    except OSError:
        listener.close()
        raise
    listener.set_inheritable(True)
    return listener
