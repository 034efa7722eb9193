"""The upload protocol of symbfiles: headers of a part, error codes, answers.

The protocol defines only the code 1000 ("Something went wrong on our side."); gsym
defines the others.
Source: README.md of symb-proto in opentelemetry-ebpf-profiler, "Symbfile upload".
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Literal

import msgspec
from msgspec import Meta
from starlette.responses import Response

from gsym.errors import CopyableError
from gsym.records import NamedTuple
from gsym.server.errors import json_response
from gsym.server.settings import Limits
from gsym.server.tokens import UPLOAD, Holder, Tokens
from gsym.symbfile.file_id import FileId


class Refusal(NamedTuple):
    """A reason to refuse a part."""

    code: str  # error code in the answer
    status: int  # HTTP status code
    when: str  # description for the manual
    retry_after: int = 0  # seconds until the client may try again; 0: it should not


INTERNAL = Refusal("1000", 500, "internal error, described in the log")
NO_KEY = Refusal("1001", 401, "the request has no API key")
UNKNOWN_KEY = Refusal(
    "1002", 401, "the API key is unknown, or has not the scope `upload`"
)
BAD_FILE_ID = Refusal("1101", 400, "`FileID` is missing or invalid")
BAD_PART = Refusal("1102", 400, "`FilePart` is missing or not a number")
BAD_PARTS = Refusal(
    "1103", 400, "`FileParts` is not a number above `FilePart`, or inconsistent"
)
NO_LENGTH = Refusal("1104", 411, "`Content-Length` is missing, or the body is chunked")
EMPTY = Refusal("1105", 400, "the body is empty")
BAD_ENCODING = Refusal("1106", 415, "`Content-Encoding` is not supported")
TOO_SLOW = Refusal("1107", 408, "the body did not arrive within `upload_timeout`")
PART_TOO_LARGE = Refusal("1201", 413, "the part is larger than `max_symbfile_part`")
TOO_MANY_PARTS = Refusal("1202", 413, "there are more than `max_symbfile_parts` parts")
TOO_LARGE = Refusal(
    "1203", 413, "the parts, compressed or inflated, are larger than `max_symbfile`"
)
OTHER_BYTES = Refusal("1301", 409, "this part was already sent with other bytes")
DAMAGED = Refusal("1401", 400, "the symbfile is damaged; the text has part and offset")
WRONG_KIND = Refusal("1402", 400, "it contains records for the other endpoint")
UNFIT = Refusal(
    "1403", 400, "it is valid but cannot be converted, for example without ranges"
)
TOO_COSTLY = Refusal("1404", 422, "reading it takes too much time or memory")
TOO_MANY_OF_KEY = Refusal(
    "1501", 429, "the key has `max_pending_of_key` unfinished uploads", 60
)
TOO_MANY_PENDING = Refusal(
    "1502", 503, "there are `max_pending_symbfiles` unfinished uploads", 60
)
DISK_FULL = Refusal("1503", 507, "the disk is full")

# All of them, in the order of the manual.
REFUSALS = tuple(each for each in [*vars().values()] if isinstance(each, Refusal))


class PartError(CopyableError):
    """A part is refused."""

    def __init__(self, refusal: Refusal, text: str, *, closes: bool = False) -> None:
        super().__init__(text)
        self.refusal = refusal
        self.text = text
        self.closes = closes


class Accepted(msgspec.Struct, forbid_unknown_fields=True):
    """The body of the answer to an accepted part."""

    success: Annotated[bool, Meta(extra_json_schema={"const": True})]
    status: Literal[200]


class Reason(msgspec.Struct, rename="pascal", forbid_unknown_fields=True):
    """Reason why a part is refused."""

    code: str
    text: str


class Refused(msgspec.Struct, forbid_unknown_fields=True):
    """The body of the answer to a refused part."""

    success: Annotated[bool, Meta(extra_json_schema={"const": False})]
    uuid: Annotated[str, Meta(extra_json_schema={"format": "uuid"})]
    error: Reason
    status: Annotated[int, Meta(ge=400, le=599)]


def success_response() -> Response:
    """The answer to an accepted part."""
    return json_response(Accepted(success=True, status=200))


def refusal_response(error: PartError, uuid: str) -> Response:
    """The answer to a refused part."""
    refusal = error.refusal
    headers = {"connection": "close"} if error.closes else {}
    if refusal.retry_after:
        headers["retry-after"] = str(refusal.retry_after)
    if refusal is NO_KEY or refusal is UNKNOWN_KEY:
        headers["www-authenticate"] = "APIKey"
    reason = Reason(refusal.code, error.text)
    body = Refused(success=False, uuid=uuid, error=reason, status=refusal.status)
    return json_response(body, refusal.status, headers)


class PartHeader(NamedTuple):
    """The headers of a part of a symbfile."""

    file_id: FileId  # FileID of the executable
    part: int  # number of the part, from 0
    parts: int | None  # number of parts; None if this request does not contain it
    size: int  # bytes of the part


_SCHEME = "apikey "
_NUMBER = re.compile("[0-9]{1,20}")
# Recognized by the first bytes, so the header is not needed.
_CODINGS = {"", "identity", "gzip", "x-gzip", "zstd"}


def key_holder(headers: Mapping[str, str], tokens: Tokens) -> Holder:
    """The holder of the API key in a request.

    Raises:
        PartError: The key is missing, unknown, or not for uploads.
    """
    given = headers.get("authorization", "").strip()
    if given[: len(_SCHEME)].lower() != _SCHEME:
        text = "send an API key: 'Authorization: APIKey KEY'"
        raise PartError(NO_KEY, text, closes=True)
    holder = tokens.holder(headers)
    if holder is None:
        raise PartError(UNKNOWN_KEY, "unknown API key", closes=True)
    if not holder.may(UPLOAD):
        raise PartError(UNKNOWN_KEY, "the API key is not for uploads", closes=True)
    return holder


def read_part_header(headers: Mapping[str, str], limits: Limits) -> PartHeader:
    """Parse the headers of a part.

    Raises:
        PartError: The headers are invalid, or the part is too large.
    """
    size = _size(headers, limits.max_symbfile_part)
    try:
        file_id = FileId.parse(headers.get("fileid", "").strip())
    except ValueError:
        reason = "FileID must be 16 bytes in base64 or hexadecimal"
        raise PartError(BAD_FILE_ID, reason, closes=True) from None
    part = _number(headers.get("filepart", ""))
    if part is None:
        raise PartError(BAD_PART, "FilePart must be a number from 0", closes=True)
    parts = None
    if "fileparts" in headers:
        parts = _number(headers["fileparts"])
        if parts is None or part >= parts:
            text = "FileParts must be a number above FilePart"
            raise PartError(BAD_PARTS, text, closes=True)
    if max(part + 1, parts or 0) > limits.max_symbfile_parts:
        text = f"please send <= {limits.max_symbfile_parts} parts"
        raise PartError(TOO_MANY_PARTS, text, closes=True)
    return PartHeader(file_id, part, parts, size)


def _size(headers: Mapping[str, str], most: int) -> int:
    size = _number(headers.get("content-length", ""))
    if size is None or "transfer-encoding" in headers:
        raise PartError(NO_LENGTH, "Content-Length is required", closes=True)
    if not size:
        raise PartError(EMPTY, "the body is empty", closes=True)
    if size > most:
        text = f"please send parts of <= {most} bytes"
        raise PartError(PART_TOO_LARGE, text, closes=True)
    if headers.get("content-encoding", "").strip().lower() not in _CODINGS:
        text = "Content-Encoding must be gzip, zstd or identity"
        raise PartError(BAD_ENCODING, text, closes=True)
    return size


def _number(text: str) -> int | None:
    return int(text) if _NUMBER.fullmatch(text.strip()) else None
