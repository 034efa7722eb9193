"""A web server that has files of modules: a symbol server, debuginfod, a store."""

from __future__ import annotations

from gsym.errors import SourceError

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from gsym.net.transfer import Transfer
    from gsym.net.web_address import WebAddress

_TOO_LARGE = 406  # the server heeds X-DEBUGINFOD-MAXSIZE


class FileServer:
    """The files below a URL that the user or an operator named.

    Args:
        address: The URL.
        transfer: Downloads them.
        headers: (name, value) to send to this server only.
        most_bytes: The largest file that a debuginfod server shall send; 0: any.
    """

    def __init__(
        self,
        address: WebAddress,
        transfer: Transfer,
        headers: Iterable[tuple[str, str]] = (),
        most_bytes: int = 0,
    ) -> None:
        self._address = address
        self._transfer = transfer
        limit = (("X-DEBUGINFOD-MAXSIZE", str(most_bytes)),) if most_bytes else ()
        self._headers = (*headers, *limit)
        self._most_bytes = most_bytes

    def __str__(self) -> str:
        return str(self._address)

    def location(self, path: str) -> str:
        """The URL of a file, without credentials."""
        return str(self._address.below(path))

    def fetch(
        self, path: str, target: str, progress: Callable[[int], object] | None = None
    ) -> None:
        """Download the file at a relative path to *target*, as `Transfer.fetch` does.

        Raises:
            NotFoundError: The server does not have the file.
            SourceError: It gave no usable answer, or not within the limits.
        """
        try:
            self._transfer.fetch(
                self._address.below(path),
                target,
                headers=self._headers,
                is_trusted=True,
                progress=progress,
            )
        except SourceError as error:
            if error.status == _TOO_LARGE and self._most_bytes:
                error.reason = f"is larger than {self._most_bytes} bytes"
            raise
