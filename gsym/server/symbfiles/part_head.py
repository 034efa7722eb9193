"""What the headers of a request say of the part of a symbfile that it brings."""

from __future__ import annotations

import re
from hashlib import sha256

from gsym.records import NamedTuple
from gsym.server.symbfiles.faults import (
    BAD_ENCODING,
    BAD_FILE_ID,
    BAD_PART,
    BAD_PARTS,
    EMPTY,
    NO_KEY,
    NO_LENGTH,
    PART_TOO_LARGE,
    TOO_MANY_PARTS,
    UNKNOWN_KEY,
    PartError,
)
from gsym.server.tokens import is_one_of
from gsym.symbfile.file_id import FileId

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


class PartHead(NamedTuple):
    """A part of a symbfile.

    Attributes:
        file_id: Of the executable.
        part: Number of the part, from 0.
        parts: How many there are; None where this request does not tell.
        size: Bytes of the part.
    """

    file_id: FileId
    part: int
    parts: int | None
    size: int


class PartLimits(NamedTuple):
    """Limits of parts.

    Attributes:
        size: Bytes of one.
        parts: How many a symbfile may come in.
    """

    size: int
    parts: int


_SCHEME = "apikey "
_NUMBER = re.compile("[0-9]{1,20}")
# Those that can be told from a symbfile by their first bytes.
_CODINGS = {"", "identity", "gzip", "x-gzip", "zstd"}
_OWNER_DIGITS = 32


def key_owner(headers: Mapping[str, str], keys: Sequence[str]) -> str:
    """What stands for the holder of the API key that a request shows.

    Raises:
        PartError: It shows none, or none of *keys*.
    """
    shown = headers.get("authorization", "").strip()
    if shown[: len(_SCHEME)].lower() != _SCHEME:
        text = "show an API key: 'Authorization: APIKey KEY'"
        raise PartError(NO_KEY, text, closes=True)
    key = shown[len(_SCHEME) :].strip()
    if not is_one_of(key, keys):
        raise PartError(UNKNOWN_KEY, "the API key is not known", closes=True)
    return sha256(key.encode()).hexdigest()[:_OWNER_DIGITS]


def read_part_head(headers: Mapping[str, str], limits: PartLimits) -> PartHead:
    """The part that a request brings.

    Raises:
        PartError: Its headers are not sound, or it is too large.
    """
    size = _size(headers, limits.size)
    file_id = _file_id(headers.get("fileid", ""))
    part = _number(headers.get("filepart", ""))
    if part is None:
        raise PartError(BAD_PART, "FilePart has to be a number from 0", closes=True)
    parts = None
    if "fileparts" in headers:
        parts = _number(headers["fileparts"])
        if parts is None or part >= parts:
            text = "FileParts has to be a number above that of FilePart"
            raise PartError(BAD_PARTS, text, closes=True)
    if max(part + 1, parts or 0) > limits.parts:
        text = f"please send <= {limits.parts} parts"
        raise PartError(TOO_MANY_PARTS, text, closes=True)
    return PartHead(file_id, part, parts, size)


def _size(headers: Mapping[str, str], most: int) -> int:
    size = _number(headers.get("content-length", ""))
    if size is None or "transfer-encoding" in headers:
        raise PartError(NO_LENGTH, "Content-Length is needed", closes=True)
    if not size:
        raise PartError(EMPTY, "the body is empty", closes=True)
    if size > most:
        text = f"please send parts of <= {most} bytes"
        raise PartError(PART_TOO_LARGE, text, closes=True)
    if headers.get("content-encoding", "").strip().lower() not in _CODINGS:
        text = "Content-Encoding is none of gzip, zstd and identity"
        raise PartError(BAD_ENCODING, text, closes=True)
    return size


def _file_id(text: str) -> FileId:
    try:
        return FileId.parse(text.strip())
    except ValueError:
        reason = "FileID has to be 16 bytes in base64, or in hexadecimal"
        raise PartError(BAD_FILE_ID, reason, closes=True) from None


def _number(text: str) -> int | None:
    return int(text) if _NUMBER.fullmatch(text.strip()) else None
