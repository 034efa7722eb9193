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
from gsym.server.page.data import PageData, PasteRequest, page_data_routes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from starlette.requests import Request

    from gsym.server.page.paste_answer import FrameAnswer, PasteAnswer
    from gsym.server.page_records import CallShown
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


def answer_page(answer: PasteAnswer) -> str:
    """The complete page as HTML."""
    names = [module.name for module in answer.modules]
    parts = [
        escape(part) if isinstance(part, str) else _frame(answer.frames[part], names)
        for part in answer.parts
    ]
    missing = [
        f"{module.name}: {module.reason}" for module in answer.modules if module.reason
    ]
    notes = "".join(f"<p>{escape(note)}</p>\n" for note in [*answer.notes, *missing])
    return _PAGE.format(form=escape(answer.form), notes=notes, stack="".join(parts))


def _frame(frame: FrameAnswer, names: list[str]) -> str:
    if not frame.calls:
        return escape(frame.text)
    innermost, *outer = frame.calls
    address = f"{names[frame.module]}+{frame.address}"
    text = f"<b>{escape(innermost.function)}</b>{_location(innermost)}"
    rows = [f"    in {escape(call.function)}{_location(call)}" for call in outer]
    return "\n".join([text, *rows]) + f" {escape(address)}"


def _location(call: CallShown) -> str:
    if not call.file:
        return ""
    return escape(f" {call.file}:{call.line}" if call.line else f" {call.file}")


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
    data = PageData(service)
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
            asked = PasteRequest(
                fields.get("text", [""])[0], fields.get("module", [""])[0]
            )
            text = answer_page(await data.symbolize(asked))
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
        self._tag = f'"{sha256(self._content).hexdigest()[:16]}"'

    def response(self, request: Request) -> Response:
        headers = {**_HEADERS, "etag": self._tag}
        if request.headers.get("if-none-match") == self._tag:
            return Response(status_code=304, headers=headers)
        return Response(self._content, headers=headers, media_type=self._type)
