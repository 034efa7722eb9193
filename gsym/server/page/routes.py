"""The web page: its files, and the answer to its form without JavaScript."""

from __future__ import annotations

import os
from hashlib import sha256
from html import escape
from urllib.parse import parse_qs

from starlette.responses import Response
from starlette.routing import Route

from gsym.server.bodies import request_body
from gsym.server.errors import HttpError
from gsym.server.file_responses import is_known
from gsym.server.page.data import PageData, page_data_routes
from gsym.server.reports import ReportQuery, Reports

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from starlette.requests import Request

    from gsym.server.service import Service


_PAGE = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>gsym: {form}</title>
<link rel="stylesheet" href="page/files/page.css">
<body>
<main>
<h1>{form}</h1>
<p><a href="./">Another paste</a></p>
{notes}<pre class="plain">{stack}</pre>
</main>
</body>
</html>
"""


def answer_page(record: Mapping[str, Any]) -> str:
    """The complete page as HTML."""
    modules = record["modules"]
    names = [module["name"] for module in modules]
    parts = [
        escape(part)
        if isinstance(part, str)
        else _frame(record["threads"][part[0]]["frames"][part[1]], names)
        for part in record["parts"]
    ]
    missing = [
        f"{module['name']}: {module['reason']}"
        for module in modules
        if module["reason"]
    ]
    notes = "".join(f"<p>{escape(note)}</p>\n" for note in [*record["notes"], *missing])
    form = escape(record["form"])
    return _PAGE.format(form=form, notes=notes, stack="".join(parts))


def _frame(frame: Mapping[str, Any], names: list[str]) -> str:
    if not frame["calls"]:
        return escape(frame["text"])
    innermost, *outer = frame["calls"]
    address = f"{names[frame['module']]}+{frame['offset']}"
    text = f"<b>{escape(innermost['function'])}</b>{_location(innermost)}"
    rows = [f"    in {escape(each['function'])}{_location(each)}" for each in outer]
    return "\n".join([text, *rows]) + f" {escape(address)}"


def _location(call: Mapping[str, Any]) -> str:
    file, line = call["file"], call["line"]
    return escape(f" {file}:{line}" if file and line else f" {file}" if file else "")


_FOLDER = os.path.join(os.path.dirname(__file__), "files")
_TYPES = {
    ".html": "text/html",
    ".css": "text/css",
    ".js": "text/javascript",
    ".svg": "image/svg+xml",
}
# Nothing from elsewhere, nothing within the page itself: names come from anybody's
# files, and what gets past the escapes must not run.
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
_HEADERS = {
    "content-security-policy": _POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cache-control": "no-cache",
}
_ESCAPED = 4  # approximate bytes of a character in a form


def page_routes(service: Service) -> list[Route]:
    """`/`, the files of the page and the data that it requests."""
    reports = Reports(service)
    data = PageData(service, reports)
    files = {name: _StaticFile(name) for name in sorted(os.listdir(_FOLDER))}
    index = files.pop("index.html")

    async def root(request: Request) -> Response:
        return index.response(request)

    async def file(request: Request) -> Response:
        found = files.get(request.path_params["name"])
        if found is None:
            raise HttpError(404)
        return found.response(request)

    async def form(request: Request) -> Response:
        limit = service.settings.limits.max_paste * _ESCAPED
        async with request_body(request, service, limit) as body:
            fields = parse_qs(body.decode("utf-8", "replace"), max_num_fields=8)
            query = ReportQuery(fields.get("module", [""])[0].strip())
            found = await reports.of_text(fields.get("text", [""])[0], query)
            text = answer_page(reports.record(*found, has_parts=True))
        return Response(text, headers=_HEADERS, media_type="text/html")

    return [
        Route("/", root, methods=["GET"]),
        Route("/", form, methods=["POST"]),
        Route("/page/files/{name}", file, methods=["GET"]),
        *page_data_routes(service, data),
    ]


class _StaticFile:
    """A file of the page, read once."""

    def __init__(self, name: str) -> None:
        with open(os.path.join(_FOLDER, name), "rb") as file:
            self._content = file.read()
        self._type = _TYPES[os.path.splitext(name)[1]]
        self._tag = sha256(self._content).hexdigest()[:16]

    def response(self, request: Request) -> Response:
        headers = {**_HEADERS, "etag": f'"{self._tag}"'}
        if is_known(request, self._tag):
            return Response(status_code=304, headers=headers)
        return Response(self._content, headers=headers, media_type=self._type)
