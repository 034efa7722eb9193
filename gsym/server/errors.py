"""Answers to failed requests: always JSON, whatever a client accepts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from http import HTTPStatus
from typing import Any

import msgspec
from anyio import fail_after
from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.types import Scope

from gsym.api.request import RequestError
from gsym.confined.process import ConfinedError
from gsym.errors import GsymError, LimitError, SourceError, UnsupportedError
from gsym.model import UINT64_END
from gsym.store.publication import IdTakenError

# Statuses of errors; the first that fits is answered, and 400 for all others.
_STATUSES = (
    (LimitError, 413),
    (ConfinedError, 422),
    (SourceError, 502),
    (IdTakenError, 403),
    (UnsupportedError, 415),
)
_RETRY_AFTER = 5  # seconds, after which a slow answer may be there sooner


def endpoint_path(scope: Scope) -> str:
    """The path of a request, without the prefix of a proxy."""
    path: str = scope["path"]
    return path.removeprefix(scope.get("root_path", ""))


def header_of(scope: Scope, name: bytes, default: str = "") -> str:
    """A header of a request; *name* in lower case. Faster than `Headers`."""
    for key, value in scope["headers"]:
        if key == name:
            return str(value, "latin-1")
    return default


def declared_size(headers: Mapping[str, str]) -> int:
    """The Content-Length of a request; 0 without a valid one."""
    text = headers.get("content-length", "")
    return int(text[:20]) if text.isascii() and text.isdigit() else 0


def number_in(text: str, refusal: str) -> int:
    """A number of 64 bits in a query, decimal or with a prefix.

    Raises:
        HttpError: *text* is no such number. *refusal* is the message to the client.
    """
    with suppress(ValueError):
        if text.isalnum() and (number := int(text, 0)) < UINT64_END:
            return number
    raise HttpError(400, refusal)


class HttpError(HTTPException):
    """A request that ends with an error.

    Args:
        status: HTTP status code.
        title: For the client; by default code and phrase of the status.
        headers: Of the answer.
        retry_after: Seconds until the client may try again; None: it should not.
        closes: Whether to close the connection without reading the rest of the request.
    """

    def __init__(
        self,
        status: int,
        title: str = "",
        *,
        headers: Mapping[str, str] | None = None,
        retry_after: int | None = None,
        closes: bool = False,
    ) -> None:
        headers = dict(headers or {})
        if retry_after is not None:
            headers["retry-after"] = str(retry_after)
        if closes:
            headers["connection"] = "close"
        super().__init__(status, title or phrase(status), headers)


@contextmanager
def in_time(seconds: float, status: int = 503, **answer: Any) -> Iterator[None]:
    """Cancel a block after *seconds*; *answer* are keywords of the error.

    Raises:
        HttpError: It took longer. By default the client may try again.
    """
    try:
        with fail_after(seconds):
            yield
    except TimeoutError:
        raise HttpError(status, **(answer or {"retry_after": _RETRY_AFTER})) from None


def http_error(error: GsymError) -> HttpError:
    """The answer to a request for whose fault an error was raised."""
    if isinstance(error, RequestError):
        return HttpError(error.status, error.reason)
    statuses = (status for kind, status in _STATUSES if isinstance(error, kind))
    return HttpError(next(statuses, 400), error.reason)


@contextmanager
def answered() -> Iterator[None]:
    """Answer the errors of a block, as `http_error` does.

    Raises:
        HttpError: In place of a GsymError.
    """
    try:
        yield
    except GsymError as error:
        raise http_error(error) from None


class ErrorBody(msgspec.Struct, forbid_unknown_fields=True):
    """The body of an answer to a failed request, with the error in both fields.

    Clients of Mozilla's symbolication server read the first, those that upload to its
    symbol server the second.
    """

    title: str
    error: str


def json_response(
    value: object, status: int = 200, headers: Mapping[str, str] | None = None
) -> Response:
    """A response with a value as JSON."""
    body = msgspec.json.encode(value)
    return Response(body, status, headers, media_type="application/json")


def private_response(value: object) -> Response:
    """A response with a value as JSON, which is for the user who asked only."""
    headers = {"cache-control": "no-store", "x-content-type-options": "nosniff"}
    return json_response(value, headers=headers)


def error_response(
    status: int, title: str = "", headers: Mapping[str, str] | None = None
) -> Response:
    """A response with an `ErrorBody`."""
    title = title or phrase(status)
    body = ErrorBody(title, title)
    return json_response(body, status, {"vary": "Accept", **(headers or {})})


def phrase(status: int) -> str:
    """Code and phrase of a status."""
    return f"{status} {HTTPStatus(status).phrase}"
