"""The protocol of symbfiles: headers of a part, error codes, answers.

The protocol has one code of its own, 1000 ("Something went wrong on our side."); the
others are ours.
Source: README.md of symb-proto in opentelemetry-ebpf-profiler, "Symbfile upload".
"""

from __future__ import annotations

import re
from hashlib import sha256

import msgspec
from starlette.responses import Response

from gsym.errors import CopyableError
from gsym.records import NamedTuple
from gsym.server.access import is_one_of
from gsym.symbfile.file_id import FileId

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


class Fault(NamedTuple):
    """A kind of refusal.

    Attributes:
        code: In the answer.
        status: For HTTP.
        when: When it is answered, for people.
        retry_after: Seconds after which it is worth another try; 0: it is not.
    """

    code: str
    status: int
    when: str
    retry_after: int = 0


_OK = 200
_JSON = "application/json"

INTERNAL = Fault("1000", 500, "a fault of this program, which is in the log")
NO_KEY = Fault("1001", 401, "the request shows no API key")
UNKNOWN_KEY = Fault("1002", 401, "the API key is none of `symbfile_keys`")
BAD_FILE_ID = Fault("1101", 400, "`FileID` is missing, or is none")
BAD_PART = Fault("1102", 400, "`FilePart` is missing, or is no number")
BAD_PARTS = Fault(
    "1103", 400, "`FileParts` is no number, or `FilePart` is not below it"
)
NO_LENGTH = Fault("1104", 411, "there is no `Content-Length`, or the body is chunked")
EMPTY = Fault("1105", 400, "the body is empty")
BAD_ENCODING = Fault("1106", 415, "`Content-Encoding` is of another kind")
TOO_SLOW = Fault("1107", 408, "the body did not come in `upload_timeout` seconds")
PART_TOO_LARGE = Fault("1201", 413, "the part has more than `max_symbfile_part` bytes")
TOO_MANY_PARTS = Fault("1202", 413, "there are more than `max_symbfile_parts` parts")
TOO_LARGE = Fault(
    "1203", 413, "all parts have more than `max_symbfile` bytes, or so inflated"
)
OTHER_BYTES = Fault("1301", 409, "this part came before, with other bytes")
DAMAGED = Fault("1401", 400, "the symbfile is damaged; the text names part and offset")
WRONG_KIND = Fault(
    "1402", 400, "it holds records of the other kind, which have another endpoint"
)
UNFIT = Fault("1403", 400, "it is sound, and cannot be converted: no ranges, say")
TOO_COSTLY = Fault("1404", 422, "to read it takes too much time or memory")
TOO_MANY_OF_KEY = Fault(
    "1501", 429, "`max_pending_of_key` unfinished uploads of the key are there", 60
)
TOO_MANY_PENDING = Fault(
    "1502", 503, "`max_pending_symbfiles` unfinished uploads are there", 60
)
NO_ROOM = Fault("1503", 507, "the disk is full")

# As the manual has them.
FAULTS = (
    *(INTERNAL, NO_KEY, UNKNOWN_KEY),
    *(BAD_FILE_ID, BAD_PART, BAD_PARTS, NO_LENGTH, EMPTY, BAD_ENCODING, TOO_SLOW),
    *(PART_TOO_LARGE, TOO_MANY_PARTS, TOO_LARGE, OTHER_BYTES),
    *(DAMAGED, WRONG_KIND, UNFIT, TOO_COSTLY),
    *(TOO_MANY_OF_KEY, TOO_MANY_PENDING, NO_ROOM),
)


class PartError(CopyableError):
    """A part is refused.

    Args:
        fault: Why.
        text: For people.
        closes: Whether the rest of the request is not read any more.
    """

    def __init__(self, fault: Fault, text: str, *, closes: bool = False) -> None:
        super().__init__(text)
        self.fault = fault
        self.text = text
        self.closes = closes


def success_response() -> Response:
    """The answer to a part that was taken."""
    return Response(b'{"success":true,"status":200}', _OK, media_type=_JSON)


def fault_response(error: PartError, uuid: str) -> Response:
    """The answer to a part that was not.

    Args:
        error: Why.
        uuid: Under which the log has it.
    """
    fault = error.fault
    headers = {"connection": "close"} if error.closes else {}
    if fault.retry_after:
        headers["retry-after"] = str(fault.retry_after)
    if fault is NO_KEY or fault is UNKNOWN_KEY:
        headers["www-authenticate"] = "APIKey"
    body = {
        "success": False,
        "uuid": uuid,
        "error": {"Code": fault.code, "Text": error.text},
        "status": fault.status,
    }
    return Response(
        msgspec.json.encode(body), fault.status, headers=headers, media_type=_JSON
    )


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
