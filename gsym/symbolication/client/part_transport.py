"""One attempt to send a part of a symbfile, and what its answer means.

An answer means one of four things: the part arrived; it may arrive later; this part is
refused, and others may not be; or the server takes no part at all.
"""

from __future__ import annotations

import ssl
import time

from gsym.errors import GsymError, ServerError, UnsupportedError
from gsym.records import NamedTuple
from gsym.store.net.limits import TransferLimits
from gsym.store.net.received_file import inflated_pieces, within_size
from gsym.store.net.retrying import read_retry_after
from gsym.store.net.web_address import read_web_address
from gsym.store.sources.source import SourceError
from gsym.symbfile.upload import ENDPOINTS, part_headers, read_answer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from gsym.store.net.connections import Answer
    from gsym.symbfile.upload import UploadPart
    from gsym.symbolication.client.settings import UploadSettings


class Attempt(NamedTuple):
    """What became of an attempt.

    Attributes:
        result: ARRIVED, LATER, REFUSED or UNUSABLE.
        status: Of HTTP; 0 for no answer.
        reason: Why it did not arrive, for people; else "".
        uuid: Under which the log of the server has that; "" for none.
        wait: Seconds that the server asks for before the next attempt.
    """

    result: str
    status: int = 0
    reason: str = ""
    uuid: str = ""
    wait: float = 0.0


ARRIVED = "arrived"
LATER = "later"
REFUSED = "refused"
UNUSABLE = "unusable"

_OK = range(200, 300)
_REDIRECTS = range(300, 400)
_LATER = {408, 425, 429, 500, 502, 503, 504}
# They speak of who asks, of where, or of the whole server, not of the part.
_UNUSABLE = {401, 402, 403, 404, 405, 407, 410, 421, 426, 501, 505, 507, 511}
_MOST_ANSWER = 1 << 20  # bytes
_PIECE_SIZE = 1 << 18


class PartTransport:
    """A connection to one server, for one thread at a time.

    Args:
        url: Of the server; the paths of the protocol are appended to it. Without an API
            key its credentials are sent as basic authorization. They are shown nowhere.
        api_key: It is shown nowhere, either; "" for none.
        settings: Limits of time.

    Raises:
        ServerError: *url* is no URL of http or https, or has credentials beside a key.
        UnsupportedError: The package for HTTP is not installed.
    """

    def __init__(self, url: str, api_key: str, settings: UploadSettings) -> None:
        try:
            from gsym.store.net.connections import Connections
        except ImportError:
            reason = "to push needs the package httpx2: pip install 'gsym[net]'"
            raise UnsupportedError(reason) from None
        try:
            self.address = read_web_address(url)
        except ValueError as error:
            raise ServerError(str(error)) from None
        if api_key and self.address.credentials:
            reason = "give either an API key or credentials in the URL"
            raise ServerError(reason, path=str(self.address))
        self._api_key = api_key
        self._attempt_seconds = settings.attempt_timeout
        self._connections = Connections(
            TransferLimits(
                connect_seconds=settings.connect_timeout,
                header_seconds=settings.attempt_timeout,
                idle_seconds=settings.timeout,
                write_seconds=settings.write_timeout,
            )
        )

    def close(self) -> None:
        """Close the connection."""
        self._connections.close()

    def send(self, part: UploadPart, sent: Callable[[int], object]) -> Attempt:
        """Send a part once.

        Args:
            part: From its file, in pieces.
            sent: Called with the bytes of it that have been sent.

        Raises:
            GsymError: Its file is not as long as it was.
            OSError: It cannot be read.
        """
        import httpcore2

        headers = part_headers(part, self._api_key)
        if authorization := self.address.authorization:
            headers.append(("Authorization", authorization))
        try:
            with self._connections.ask(
                self.address.below(ENDPOINTS[part.kind]),
                headers,
                body=_pieces(part, sent),
                is_trusted=True,
                until=time.monotonic() + self._attempt_seconds,
            ) as answer:
                return self._judge(answer)
        except httpcore2.TimeoutException:
            return Attempt(LATER, reason="no answer in time")
        except (
            httpcore2.NetworkError,
            httpcore2.ProtocolError,
            httpcore2.ProxyError,
        ) as error:
            # httpcore's errors hold those that they are made of.
            is_stranger = any(map(_is_stranger, error.args))
            result = UNUSABLE if is_stranger else LATER
            return Attempt(result, reason=self._shown(str(error)) or "no connection")

    def _judge(self, answer: Answer) -> Attempt:
        status, fields = answer.status, answer.headers
        if status in _REDIRECTS:
            target = self.address.shown_target(fields.get("location", ""))
            reason = f"HTTP status {status}: redirects to {target}: name that server"
            return Attempt(UNUSABLE, status, reason)
        wait = read_retry_after(fields.get("retry-after", "")) or 0.0
        try:
            said = read_answer(_body(answer))
        except (SourceError, ValueError) as error:
            reason = f"HTTP status {status}, with another answer than expected: {error}"
            # Who answers 200 with a page may be somebody in between.
            result = LATER if status in _OK else _result(status)
            return Attempt(result, status, self._shown(reason), wait=wait)
        if status in _OK and said.success:
            return Attempt(ARRIVED, status)
        result = _result(said.status if status in _OK else status)
        code = f": error {said.code}" if said.code else ""
        text = f": {said.text}" if said.text else ""
        reason = self._shown(f"HTTP status {status}{code}{text}")
        return Attempt(result, status, reason, self._shown(said.uuid), wait)

    def _shown(self, text: str) -> str:
        """*text* without the API key, should a server repeat it."""
        return text.replace(self._api_key, "***") if self._api_key else text


def _is_stranger(error: object) -> bool:
    return isinstance(error, ssl.SSLCertVerificationError)


def _result(status: int) -> str:
    if status in _LATER:
        return LATER
    return UNUSABLE if status in _UNUSABLE else REFUSED


def _pieces(part: UploadPart, sent: Callable[[int], object]) -> Iterator[bytes]:
    """The bytes of a part: as many as its request announces."""
    done = 0
    with open(part.path, "rb") as file:
        while done < part.size:
            piece = file.read(min(_PIECE_SIZE, part.size - done))
            if not piece:
                raise GsymError("became shorter while it was sent", path=part.path)
            yield piece
            done += len(piece)
            sent(done)


def _body(answer: Answer) -> bytes:
    """What is answered; some servers compress it without being asked to.

    Raises:
        SourceError: It is damaged or too large.
    """
    encoding = answer.headers.get("content-encoding", "")
    pieces = within_size(answer.pieces, _MOST_ANSWER)
    return b"".join(inflated_pieces(pieces, encoding, _MOST_ANSWER))
