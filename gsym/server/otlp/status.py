"""Errors as messages of protobuf, as the protocol of OpenTelemetry has them.

Source: opentelemetry.io/docs/specs/otlp, google/rpc/status.proto, code.proto and
error_details.proto.
"""

from __future__ import annotations

from functools import lru_cache

from starlette.responses import Response

from gsym.profiles.protobuf import decode_message, message_types
from gsym.records import NamedTuple

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from starlette.exceptions import HTTPException

PROTOBUF = "application/x-protobuf"
_MESSAGES = {
    "Status": ("code 1 int32", "message 2 bytes", "details 3 Any*"),
    "Any": ("type_url 1 string", "value 2 bytes"),
    "RetryInfo": ("retry_delay 1 Duration",),
    "Duration": ("seconds 1 int64",),
}
_RETRY_INFO = "type.googleapis.com/google.rpc.RetryInfo"


class Code(NamedTuple):
    """A status of gRPC: its number and its name in Python's gRPC."""

    number: int
    name: str


UNKNOWN = Code(2, "UNKNOWN")
INVALID_ARGUMENT = Code(3, "INVALID_ARGUMENT")
DEADLINE_EXCEEDED = Code(4, "DEADLINE_EXCEEDED")
PERMISSION_DENIED = Code(7, "PERMISSION_DENIED")
RESOURCE_EXHAUSTED = Code(8, "RESOURCE_EXHAUSTED")
UNIMPLEMENTED = Code(12, "UNIMPLEMENTED")
INTERNAL = Code(13, "INTERNAL")
UNAVAILABLE = Code(14, "UNAVAILABLE")
UNAUTHENTICATED = Code(16, "UNAUTHENTICATED")

# Clients send again what gets one of the last two, with a time to retry after.
_CODES = {
    400: INVALID_ARGUMENT,
    415: INVALID_ARGUMENT,
    401: UNAUTHENTICATED,
    403: PERMISSION_DENIED,
    404: UNIMPLEMENTED,
    413: RESOURCE_EXHAUSTED,
    500: INTERNAL,
    408: DEADLINE_EXCEEDED,
    429: RESOURCE_EXHAUSTED,
    503: UNAVAILABLE,
}


def code_of(status: int) -> Code:
    """The status of gRPC for one of HTTP."""
    return _CODES.get(status, UNKNOWN)


@lru_cache(maxsize=1)
def _types() -> dict[str, Any]:
    return message_types("google.rpc", _MESSAGES)


def status_message(status: int, text: str, headers: Mapping[str, str]) -> bytes:
    """A `Status` message for an error of HTTP."""
    types = _types()
    message = types["Status"](code=code_of(status).number, message=text.encode())
    seconds = headers.get("retry-after", "")
    if seconds.isdigit():
        retry = types["RetryInfo"]()
        retry.retry_delay.seconds = int(seconds)
        message.details.add(type_url=_RETRY_INFO, value=retry.SerializeToString())
    return bytes(message.SerializeToString())


def status_response(error: HTTPException) -> Response:
    """The answer to a request that ends with an error."""
    headers = dict(error.headers or {})
    body = status_message(error.status_code, error.detail, headers)
    return Response(body, error.status_code, headers, PROTOBUF)


def status_text(data: bytes) -> str:
    """The text of a `Status` message; "" if it is not one."""
    message = decode_message(_types()["Status"], data, None)
    return bytes(message.message).decode("utf-8", "replace")
