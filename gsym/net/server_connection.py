"""Requests to one server."""

from __future__ import annotations

from contextlib import contextmanager

from gsym.errors import GsymError, ServerError, SourceError
from gsym.net import open_connections
from gsym.net.retry import RetryableError
from gsym.net.transfer import inflated_pieces, within_size
from gsym.net.web_address import WebAddress, read_web_address

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from typing_extensions import Self

    from gsym.net.connections import Answer
    from gsym.net.limits import TransferLimits

_PIECE_SIZE = 1 << 18
_REDIRECTS = range(300, 400)


class ServerClient:
    """A client of one server, with a connection to it; for one thread at a time.

    Args:
        url: URL of the server; the paths of its API are appended to it. It is shown
            without its credentials.
        user: The feature that needs it, for the message about a missing package.
        limits: Of each request.
        secret: A token or key, which no message contains; "" for none.
        what: The article and name of the secret.

    Raises:
        ServerError: *url* is not a URL of http or https, or has credentials beside a
            secret.
        UnsupportedError: The extra `net` is not installed.
    """

    def __init__(
        self,
        url: str,
        user: str,
        limits: TransferLimits,
        secret: str = "",
        what: str = "",
    ) -> None:
        self._connections = open_connections(user, limits)
        self._secret = secret
        self._address: WebAddress = server_address(url)
        if secret and self._address.credentials:
            reason = f"give either {what} or credentials in the URL"
            raise ServerError(reason, path=str(self._address))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connection."""
        self._connections.close()

    def _shown(self, text: str) -> str:
        """*text* without the secret, in case a server repeats it."""
        return text.replace(self._secret, "***") if self._secret else text

    @contextmanager
    def _ask(
        self,
        path: str,
        headers: Iterable[tuple[str, str]],
        body: bytes | Iterator[bytes] | None,
        until: float,
        *,
        query: str = "",
    ) -> Iterator[Answer]:
        """The answer to a request; redirects are not followed.

        *body* is sent by POST; pieces need a Content-Length among the headers.

        Raises:
            SourceError: The server does not respond, or redirects.
        """
        address = self._address.below(path.lstrip("/"))
        if query:
            joint = "&" if "?" in address.target else "?"
            address = address._replace(target=f"{address.target}{joint}{query}")
        headers = [*headers]
        if address.authorization:
            headers.append(("Authorization", address.authorization))
        with self._connections.ask(
            address, headers, body=body, is_trusted=True, until=until
        ) as answer:
            refuse_redirect(address, answer.status, answer.headers)
            yield answer


def server_address(url: str) -> WebAddress:
    """The address of a server that the user named.

    Raises:
        ServerError: It is not a URL of http or https.
    """
    try:
        return read_web_address(url)
    except ValueError as error:
        raise ServerError(f"address of the server: {error}") from None


@contextmanager
def failures(place: str, shown: Callable[[str], str] = str) -> Iterator[None]:
    """Say of a failure which server it is of, by a text that is *shown*.

    Raises:
        ServerError: In place of a SourceError.
    """
    try:
        yield
    except SourceError as error:
        reason = shown(error.reason)
        if isinstance(error, RetryableError):
            reason += f" (attempt {error.attempts})"
        raise ServerError(reason, path=place, status=error.status) from None


def refuse_redirect(
    address: WebAddress, status: int, headers: Mapping[str, str]
) -> None:
    """Check that an answer is none that leads to another server.

    Raises:
        SourceError: It is one.
    """
    if status in _REDIRECTS:
        target = address.shown_target(headers.get("location", ""))
        reason = f"HTTP status {status}: redirects to {target}: name that server"
        raise SourceError(reason, status=status)


def file_pieces(
    path: str, size: int, progress: Callable[[int], object]
) -> Iterator[bytes]:
    """The first bytes of a file, as the body of a request.

    Their number is what the Content-Length of the request says.
    """
    done = 0
    with open(path, "rb") as file:
        while done < size:
            piece = file.read(min(_PIECE_SIZE, size - done))
            if not piece:
                raise GsymError("truncated while it was sent", path=path)
            yield piece
            done += len(piece)
            progress(done)


def read_body(answer: Answer, most: int) -> bytes:
    """The body of an answer, inflated."""
    encoding = answer.headers.get("content-encoding", "")
    pieces = inflated_pieces(within_size(answer.pieces, most), encoding, most)
    return b"".join(pieces)
