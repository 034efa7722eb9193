"""Errors as messages of protobuf, as the protocol of OpenTelemetry has them.

Source: opentelemetry.io/docs/specs/otlp, google/rpc/status.proto, code.proto and
error_details.proto.
"""

from __future__ import annotations

from collections.abc import Mapping

from starlette.exceptions import HTTPException
from starlette.responses import Response

from gsym.profiles.protobuf import decode_message, message_types

PROTOBUF = "application/x-protobuf"
_PACKAGE = "google.rpc"
_MESSAGES = """
Status: code 1 int32, message 2 bytes, details 3 Any*;
Any: type_url 1 string, value 2 bytes;
RetryInfo: retry_delay 1 Duration;
Duration: seconds 1 int64;
"""
_RETRY_INFO = "type.googleapis.com/google.rpc.RetryInfo"


# Statuses of gRPC by those of HTTP: the number, and the name in Python's gRPC. Clients
# send again what gets RESOURCE_EXHAUSTED or UNAVAILABLE, with a time to retry after.
_CODES = {
    400: (3, "INVALID_ARGUMENT"),
    401: (16, "UNAUTHENTICATED"),
    403: (7, "PERMISSION_DENIED"),
    404: (12, "UNIMPLEMENTED"),
    408: (4, "DEADLINE_EXCEEDED"),
    413: (8, "RESOURCE_EXHAUSTED"),
    415: (3, "INVALID_ARGUMENT"),
    429: (8, "RESOURCE_EXHAUSTED"),
    500: (13, "INTERNAL"),
    503: (14, "UNAVAILABLE"),
}


def code_of(status: int) -> tuple[int, str]:
    """Number and name of the status of gRPC for one of HTTP."""
    return _CODES.get(status, (2, "UNKNOWN"))


def status_message(status: int, text: str, headers: Mapping[str, str]) -> bytes:
    """A `Status` message for an error of HTTP."""
    types = message_types(_PACKAGE, _MESSAGES)
    message = types["Status"](code=code_of(status)[0], message=text.encode())
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
    message = decode_message(message_types(_PACKAGE, _MESSAGES)["Status"], data)
    return bytes(message.message).decode("utf-8", "replace")
