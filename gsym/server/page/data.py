"""Data of the web page: the store, contents of modules, the negative cache.

These endpoints are private to the page and change with it.
"""

from __future__ import annotations

from functools import partial
from urllib.parse import quote

from starlette.routing import Route

import gsym
from gsym.errors import GsymError
from gsym.model import UINT64_END
from gsym.modules.key import is_windows, key_of_debug_id
from gsym.reports.report import call_record
from gsym.server.debuginfod import SEVERAL
from gsym.server.errors import (
    HttpError,
    error_response,
    number_in,
    private_response,
)
from gsym.server.page_records import (
    attempts_shown,
    module_shown,
    shown,
)
from gsym.server.tokens import UPLOAD
from gsym.store.binary_facts import KINDS

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from typing import Any

    from starlette.requests import Request
    from starlette.responses import Response

    from gsym.modules.open_module import OpenModule
    from gsym.reading.reader import Reader
    from gsym.server.reports import Reports
    from gsym.server.service import Service
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

    def address(
        self, debug_id: str, address: int, *, is_offset: bool
    ) -> dict[str, Any]:
        """The function and calls at an address of a module."""
        _module, _entry, reader = self._open(debug_id)
        link = address + reader.header.base_address if is_offset else address
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
        """A module of the store or of a folder, its properties, and its file.

        Raises:
            HttpError: It is missing, or cannot be converted.
        """
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


def page_data_routes(service: Service, data: PageData) -> list[Route]:
    """The endpoints below `/page/` that answer in JSON."""

    async def modules(request: Request) -> Response:
        asked = _text(request, "query"), _number(request, "first")
        return private_response(await service.opening.run(data.modules, *asked))

    async def module(request: Request) -> Response:
        return await _answered(service, data.module, _text(request, "id"))

    async def functions(request: Request) -> Response:
        asked = _text(request, "id"), _text(request, "query")
        return await _answered(service, data.functions, *asked)

    async def address(request: Request) -> Response:
        debug_id, number = _text(request, "id"), _number(request, "address")
        is_offset = _text(request, "base") == "image"

        look_up = partial(data.address, is_offset=is_offset)
        return await _answered(service, look_up, debug_id, number)

    async def misses(_request: Request) -> Response:
        return private_response(await service.run(data.misses))

    async def state(_request: Request) -> Response:
        return private_response(data.state())

    endpoints = (modules, module, functions, address, misses, state)
    return [
        Route(f"/page/{each.__name__}", each, methods=["GET"]) for each in endpoints
    ]


async def _answered(service: Service, work: Any, *arguments: str | int) -> Response:
    try:
        # Not `service.run`, as this may convert a module of a folder.
        with service.files.guarded():
            return private_response(await service.opening.run(work, *arguments))
    except GsymError as error:
        return error_response(500, shown(str(error)))


def _text(request: Request, name: str) -> str:
    return request.query_params.get(name, "")[:_MAX_QUERY]


def _number(request: Request, name: str) -> int:
    """A number in a query; 0 if it is missing."""
    text = _text(request, name).strip() or "0"
    return number_in(text, f"{name} is not a number")
