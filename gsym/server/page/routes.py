"""The web page: its files, its form without JavaScript, and the data that it requests.

The endpoints for data are private to the page and change with it.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from hashlib import sha256
from html import escape
from typing import Any
from urllib.parse import parse_qs, quote

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

import gsym
from gsym.errors import GsymError
from gsym.model import UINT64_END
from gsym.modules.key import is_windows, key_of_debug_id
from gsym.modules.open_module import OpenModule
from gsym.reading.reader import Reader
from gsym.reports.report import call_record
from gsym.server.answers import is_known
from gsym.server.bodies import request_body
from gsym.server.downloads import SEVERAL
from gsym.server.errors import HttpError, error_response, number_in, private_response
from gsym.server.reports import ReportQuery, Reports
from gsym.server.service import ModuleOpening, Service
from gsym.server.shown_modules import attempts_shown, module_shown, shown
from gsym.server.tokens import UPLOAD
from gsym.store.binary_facts import KINDS
from gsym.store.entries import Entry

_PAGE_SIZE = 50
_MAX_FUNCTIONS = 200
_MAX_MISSES = 100
_MAX_QUERY = 1000
_TEXTS = "gsym", "sym"


class PageData:
    """Answers the requests of the page."""

    def __init__(self, service: Service, reports: Reports) -> None:
        self._service = service
        self._listing = reports.listing

    def modules(self, query: str, first: int) -> dict[str, Any]:
        """One page of the modules in the store that match *query*."""
        found = self._listing.search(query) if self._listing is not None else []
        part = found[first : first + _PAGE_SIZE]
        return {
            "matched": len(found),
            "first": first,
            "modules": [module_shown(entry) for entry in part],
        }

    def module(self, debug_id: str) -> dict[str, Any]:
        """Properties of a module."""
        _module, entry, reader = self._open(debug_id)
        header = reader.header
        return {
            "module": module_shown(entry),
            "uuid": header.uuid.hex(),
            "version": header.version,
            "base_address": hex(header.base_address),
            "functions": len(reader),
            "files": header.num_files,
            "file_size": reader.size,
            "downloads": self._downloads(entry),
        }

    def _downloads(self, entry: Entry) -> list[dict[str, str]]:
        """The files of a module that a link without a token can fetch."""
        service, known = self._service, entry.identity
        settings = service.settings
        if not settings.enable_downloads or service.tokens.is_needed_to_read():
            return []
        found = []
        if known.debug_file and known.debug_id:
            name = quote(known.debug_file, safe="")
            stem = f"{name}/{known.debug_id}/{name}"
            found += [{"kind": each, "path": f"{stem}.{each}"} for each in _TEXTS]
        if not is_windows(known.os) and known.code_id:
            folder = f"buildid/{known.code_id.lower()}"
            kinds = [each for each in KINDS if each in entry.originals]
            found += [{"kind": each, "path": f"{folder}/{each}"} for each in kinds]
        return found

    def functions(self, debug_id: str, query: str) -> dict[str, Any]:
        """Functions of a module with *query* in their names."""
        module = self._open(debug_id)[0]
        table = self._service.texts.of(module).functions
        found = [
            (table.name(index), table.starts[index], table.sizes[index])
            for index in table.search(query, _MAX_FUNCTIONS)
        ]
        functions = [_function_shown(*each) for each in sorted(found)]
        return {"limit": _MAX_FUNCTIONS, "functions": functions}

    def address(self, debug_id: str, address: int, base: str) -> dict[str, Any]:
        """The function and calls at an address of a module."""
        _module, _entry, reader = self._open(debug_id)
        link = address + (reader.header.base_address if base == "image" else 0)
        found = reader.lookup(link) if link < UINT64_END else None
        if found is None:
            return {"address": hex(link), "function": None, "calls": []}
        function, path_map = found.function, self._service.path_map or str
        return {
            "address": hex(link),
            "function": _function_shown(function.name, function.start, function.size),
            "calls": [call_record(each, shown, path_map) for each in found.frames],
        }

    def misses(self) -> dict[str, Any]:
        """The missing modules that were requested most often."""
        misses = getattr(self._service.symbolizer.resolver, "misses", None)
        found = misses.most_missed(_MAX_MISSES) if misses is not None else []
        return {
            "misses": [
                {
                    "name": shown(each.key.debug_file or each.key.code_file),
                    "debug_id": shown(each.key.debug_id),
                    "code_id": shown(each.key.code_id),
                    "count": each.asked,
                    "last": each.last_asked,
                    "attempts": attempts_shown(each.attempts),
                }
                for each in found
            ]
        }

    def state(self) -> dict[str, Any]:
        """Properties of the server that the page needs."""
        store = self._service.symbolizer.store
        return {
            "version": gsym.__version__,
            "store": shown(store.path) if store is not None else "",
            "max_paste": self._service.settings.limits.max_paste,
            "takes_uploads": bool(self._service.tokens.names(UPLOAD)),
            "max_upload": self._service.settings.limits.max_upload,
            "serves_sources": self._service.settings.enable_source,
        }

    def _open(self, debug_id: str) -> tuple[OpenModule, Entry, Reader]:
        """A module of the store or of a folder, its properties, and its file."""
        try:
            key = key_of_debug_id("", debug_id)
        except ValueError as error:
            raise HttpError(400, shown(str(error))) from None
        symbolizer, listing = self._service.symbolizer, self._listing
        module = symbolizer.find(key)
        if module is None and listing is not None and listing.in_folders(key.debug_id):
            module = symbolizer.open(key)
            if module.reader is None:
                raise HttpError(404, shown(module.reason))
        if module is None or module.entry is None or module.reader is None:
            is_several = listing is not None and listing.has_several(key.debug_id)
            missing = "this module is not in the store"
            raise HttpError(404, SEVERAL if is_several else missing)
        return module, module.entry, module.reader


def _function_shown(name: str, start: int, size: int) -> dict[str, Any]:
    return {"name": shown(name), "start": hex(start), "size": size}


def _data_routes(service: Service, data: PageData) -> list[Route]:
    """The endpoints below `/page/` that answer in JSON."""
    # Not `service.run`, where a module of a folder may be converted.
    opening = service.opening
    return [
        _data_route(service, opening, data.modules, query=_text, first=_number),
        _data_route(service, opening, data.module, id=_text),
        _data_route(service, opening, data.functions, id=_text, query=_text),
        _data_route(
            service, opening, data.address, id=_text, address=_number, base=_text
        ),
        _data_route(service, service, data.misses),
        _data_route(service, service, data.state),
    ]


def _data_route(
    service: Service,
    threads: Service | ModuleOpening,
    work: Callable[..., dict[str, Any]],
    **readers: Callable[[Request, str], str | int],
) -> Route:
    async def endpoint(request: Request) -> Response:
        asked = [read(request, name) for name, read in readers.items()]
        try:
            with service.files.guarded():
                return private_response(await threads.run(work, *asked))
        except GsymError as error:
            return error_response(500, shown(str(error)))

    return Route(f"/page/{work.__name__}", endpoint, methods=["GET"])


def _text(request: Request, name: str) -> str:
    return request.query_params.get(name, "")[:_MAX_QUERY]


def _number(request: Request, name: str) -> int:
    """A number in a query; 0 if it is missing."""
    text = _text(request, name).strip() or "0"
    return number_in(text, f"{name} is not a number")


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
    files = {name: _static(name) for name in sorted(os.listdir(_FOLDER))}
    index = files.pop("index.html")

    async def root(request: Request) -> Response:
        return index(request)

    async def file(request: Request) -> Response:
        found = files.get(request.path_params["name"])
        if found is None:
            raise HttpError(404)
        return found(request)

    async def form(request: Request) -> Response:
        limit = service.settings.limits.max_paste * _ESCAPED
        async with request_body(request, service, limit) as body:
            fields = parse_qs(body.decode("utf-8", "replace"), max_num_fields=8)
            module = fields.get("module", [""])[0].strip()
            query = ReportQuery(module, has_parts=True)
            record = await reports.of_text(fields.get("text", [""])[0], query)
            text = answer_page(record)
        return Response(text, headers=_HEADERS, media_type="text/html")

    return [
        Route("/", root, methods=["GET"]),
        Route("/", form, methods=["POST"]),
        Route("/page/files/{name}", file, methods=["GET"]),
        *_data_routes(service, PageData(service, reports)),
    ]


def _static(name: str) -> Callable[[Request], Response]:
    """A function that answers with a file of the page, which is read once."""
    with open(os.path.join(_FOLDER, name), "rb") as file:
        content = file.read()
    tag = sha256(content).hexdigest()[:16]
    headers = {**_HEADERS, "etag": f'"{tag}"'}
    kind = _TYPES[os.path.splitext(name)[1]]

    def response(request: Request) -> Response:
        if is_known(request, tag):
            return Response(status_code=304, headers=headers)
        return Response(content, headers=headers, media_type=kind)

    return response
