"""Paths of requests, as endpoints know them."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from starlette.types import Scope


def endpoint_path(scope: Scope) -> str:
    """The path of a request, without what a proxy has in front of it."""
    path: str = scope["path"]
    return path.removeprefix(scope.get("root_path", ""))
