"""Tokens that clients show."""

from __future__ import annotations

from hmac import compare_digest

from starlette.datastructures import Headers

from gsym.server.errors import error_response
from gsym.server.health import HEALTH_PATHS
from gsym.server.paths import endpoint_path

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from starlette.types import ASGIApp, Receive, Scope, Send

_UNAUTHORIZED = 401
_BEARER = "bearer "
# They have tokens of their own.
_UPLOADS = {"/upload/", "/api/symbols-ranges", "/api/symbols-returnpads"}
_PAGE_FILES = "/page/files/"  # of the page that asks for a token, and tells nothing


def has_token(headers: Mapping[str, str], tokens: Sequence[str]) -> bool:
    """Whether headers show one of *tokens*.

    That is `Authorization: Bearer TOKEN`, or `Auth-Token: TOKEN` as Mozilla's symbol
    server takes it.
    """
    shown = headers.get("auth-token", "")
    authorization = headers.get("authorization", "")
    if authorization[: len(_BEARER)].lower() == _BEARER:
        shown = authorization[len(_BEARER) :].strip()
    return is_one_of(shown, tokens)


def is_one_of(shown: str, tokens: Sequence[str]) -> bool:
    """Whether *shown* is one of *tokens*; how long that takes tells nothing of them."""
    given = shown.encode("utf-8", "replace")
    is_one = False
    for token in tokens:
        is_one |= compare_digest(given, token.encode())
    return is_one


class ReadTokens:
    """Answers 401 to who shows no token, where there are any."""

    def __init__(self, app: ASGIApp, tokens: Sequence[str]) -> None:
        self._app = app
        self._tokens = tuple(tokens)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if (
            scope["type"] != "http"
            or not self._tokens
            or scope["method"] == "OPTIONS"  # before a request that shows one
            or _is_open(scope["method"], endpoint_path(scope))
            or has_token(Headers(scope=scope), self._tokens)
        ):
            await self._app(scope, receive, send)
            return
        headers = {"www-authenticate": "Bearer"}
        await error_response(_UNAUTHORIZED, headers=headers)(scope, receive, send)


def _is_open(method: str, path: str) -> bool:
    """Whether an endpoint answers everybody, or has tokens of its own."""
    is_page = method == "GET" and (path == "/" or path.startswith(_PAGE_FILES))
    return is_page or path in HEALTH_PATHS or path in _UPLOADS
