"""Reads ranges of one version of a remote file, on a web server or in a bucket."""

from __future__ import annotations

from urllib.parse import unquote

from gsym.errors import NotFoundError, SourceError, UnsupportedError
from gsym.net.buckets import BUCKETS, errors_of, open_object_store
from gsym.net.limits import TransferLimits
from gsym.net.transfer import Transfer, within_size
from gsym.net.web_address import WebAddress, read_web_address
from gsym.records import NamedTuple

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from typing import Any

    from gsym.net.connections import Answer

_PARTIAL = 206
_PRECONDITION_FAILED = 412
_NOT_SATISFIABLE = 416


class _Part(NamedTuple):
    """A part of a file."""

    data: bytes  # its bytes
    size: int  # of the file
    mark: str  # the entity tag, or what else changes with the contents; "" for none


class RemoteFile:
    """One version of a file; safe for threads.

    Attributes:
        name: Its URL, for people.
        size: Bytes.
        head: Its first bytes.

    Args:
        url: `https://...`, `s3://BUCKET/PATH`, `gs://...` or `az://...`; of a bucket
            with the settings that `open_object_store` takes.
        head_size: How much is read at once.
        limits: Limits of each request; the file is at most `most_bytes` large.

    Raises:
        NotFoundError: It does not exist.
        SourceError: It cannot be read, or not in parts.
        UnsupportedError: It is stored compressed; a package is not installed.
        ValueError: The URL is invalid.
    """

    def __init__(
        self, url: str, head_size: int, limits: TransferLimits | None = None
    ) -> None:
        limits = TransferLimits() if limits is None else limits
        kind = _Object if url.startswith(BUCKETS) else _Page
        self._place: _Object | _Page = kind(url, limits)
        self.name: str = self._place.name
        self.size: int = -1
        self._mark = ""
        self.head: bytes
        part = self._ask(0, head_size)
        self.head, self.size, self._mark = part
        if self.size > limits.most_bytes:
            reason = f"is larger than {limits.most_bytes} bytes"
            raise SourceError(reason, path=self.name)

    def read(self, start: int, size: int) -> bytes:
        """The bytes from *start* on, all *size* of them."""
        return self._ask(start, size).data

    def _ask(self, start: int, size: int) -> _Part:
        try:
            part = self._place.read(start, size, self._mark)
        except (NotFoundError, SourceError) as error:
            is_gone = self.size >= 0 and isinstance(error, NotFoundError)
            is_other = getattr(error, "status", 0) == _PRECONDITION_FAILED
            if is_gone or is_other:
                raise self._replaced(start, size) from error
            if self.size < 0:
                raise
            error.reason = f"{_range(start, size)}: {error.reason}"
            raise
        if self.size < 0:
            return part
        if (part.size, part.mark) != (self.size, self._mark):
            raise self._replaced(start, size)
        return part

    def _replaced(self, start: int, size: int) -> SourceError:
        reason = f"{_range(start, size)}: the file was replaced after it was opened"
        return SourceError(reason, path=self.name)


def _range(start: int, size: int) -> str:
    return f"bytes {start}-{start + size - 1}"


def _checked(part: _Part, start: int, size: int) -> _Part:
    """*part*, which must have what was asked for, as far as the file goes."""
    if len(part.data) != max(0, min(size, part.size - start)):
        raise SourceError(f"sent {len(part.data)} bytes", may_retry=True)
    return part


def _refuse_encoding(encoding: str, name: str) -> None:
    if encoding.strip().lower() not in {"", "identity"}:
        reason = f"is stored with the encoding {encoding[:20]}: download it"
        raise UnsupportedError(reason, path=name)


class _Page:
    """A file on a web server that the user named; redirects reach public ones only."""

    def __init__(self, url: str, limits: TransferLimits) -> None:
        self._address: WebAddress = read_web_address(url)
        self._transfer = Transfer(limits, user="a file on a web server")
        self.name = str(self._address)

    def __del__(self) -> None:
        if hasattr(self, "_transfer"):
            self._transfer.close()

    def read(self, start: int, size: int, mark: str) -> _Part:
        headers = [
            ("Accept-Encoding", "identity"),
            ("Range", f"bytes={start}-{start + size - 1}"),
        ]
        if mark.startswith('"'):  # not a weak one, which never matches
            headers.append(("If-Match", mark))

        def take(answer: Answer) -> _Part:
            return _checked(self._part(answer, start, size), start, size)

        try:
            return self._transfer.receive(self._address, take, headers, is_trusted=True)
        except SourceError as error:
            if error.status == _NOT_SATISFIABLE and start == 0:
                return _Part(b"", 0, "")
            raise

    def _part(self, answer: Answer, start: int, size: int) -> _Part:
        fields = answer.headers
        _refuse_encoding(fields.get("content-encoding", ""), self.name)
        mark = fields.get("etag", "") or fields.get("last-modified", "")
        if answer.status == _PARTIAL:
            unit, _, rest = fields.get("content-range", "").partition(" ")
            part, _, total = rest.partition("/")
            if unit != "bytes" or part.split("-")[0] != str(start):
                raise SourceError("sent another range")
            if not total.isdecimal():  # isdigit() has also "²"
                raise SourceError("does not declare its size")
            return _Part(_joined(answer, size), int(total[:20]), mark)
        length = fields.get("content-length", "")
        if start or not length.isdecimal() or int(length[:20]) > size:
            raise SourceError("the server does not send ranges: download the file")
        return _Part(_joined(answer, size), int(length), mark)


def _joined(answer: Answer, most: int) -> bytes:
    return b"".join(within_size(answer.pieces, most))


class _Object:
    """An object of a bucket."""

    def __init__(self, url: str, limits: TransferLimits) -> None:
        location, question, settings = url.partition("?")
        folder, _, name = location.rpartition("/")
        if not name or folder.endswith("/"):
            raise ValueError("the URL names a bucket, not an object in it")
        self._path = unquote(name)
        self._store, shown = open_object_store(folder + question + settings, limits)
        self.name = f"{shown}/{name}"

    def read(self, start: int, size: int, mark: str) -> _Part:
        from obstore.exceptions import BaseError, PreconditionError

        options: Any = {"range": (start, start + size)}
        if mark.startswith('"'):
            options["if_match"] = mark
        with errors_of(self.name):
            try:
                result = self._store.get(self._path, options=options)
            except PreconditionError:
                status = _PRECONDITION_FAILED
                raise SourceError("was replaced", status=status) from None
            except BaseError:
                if start or self._store.head(self._path)["size"]:
                    raise
                return _Part(b"", 0, "")  # which has no range
            encoding = str(result.attributes.get("Content-Encoding", ""))
            _refuse_encoding(encoding, self.name)
            meta = result.meta
            found = meta["e_tag"] or meta["last_modified"].isoformat()
            data = bytes(result.bytes())
            return _checked(_Part(data, meta["size"], found), start, size)
