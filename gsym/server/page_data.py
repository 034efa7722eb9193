"""What the page asks for: pastes symbolized, the store, what is in a module, misses.

For the page alone, so that it may change with it.
"""

from __future__ import annotations

import msgspec
from starlette.responses import Response
from starlette.routing import Route

import gsym
from gsym.errors import GsymError
from gsym.model import UINT64_END
from gsym.server.bodies import HeldBody, read_body
from gsym.server.errors import ServerError
from gsym.store.loose_files import LooseFiles
from gsym.store.modules import key_of_debug_id
from gsym.symbolication.module_contents import contents_of
from gsym.symbolication.page_records import (
    attempts_shown,
    call_shown,
    module_shown,
    shown,
)
from gsym.symbolication.paste_answer import PasteAnswer, PasteWork
from gsym.symbolication.stacks.parts import module_of_path
from gsym.symbolication.stacks.recognition import parse_pasted_stack
from gsym.symbolication.store_listing import StoreListing

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from starlette.requests import Request

    from gsym.reading.reader import Reader
    from gsym.server.service import Service
    from gsym.store.modules import Entry
    from gsym.store.symbolizer import OpenModule

_ESCAPED = 6  # bytes that a character of a paste may take
_OTHER_FIELDS = 1 << 16  # bytes of all but the paste
_PAGE_SIZE = 50
_MOST_FUNCTIONS = 200
_MOST_MISSES = 100
_LONGEST_QUERY = 1000
_BAD_REQUEST = 400
_NOT_FOUND = 404
_TOO_LARGE = 413


class PasteRequest(msgspec.Struct):
    """What `POST page/symbolize` takes.

    Attributes:
        text: The paste.
        module: Name of the module of addresses that stand alone, or `NAME/DEBUGID`.
        choices: Debug ids by index of the module, of several of one name.
    """

    text: str
    module: str = ""
    choices: dict[int, str] = {}


class PageData:
    """Answers to what the page asks.

    Args:
        service: That of the server.
    """

    def __init__(self, service: Service) -> None:
        self._service = service
        store = service.symbolizer.store
        sources = getattr(service.symbolizer.resolver, "sources", ())
        folders = [each for each in sources if isinstance(each, LooseFiles)]
        self._listing = StoreListing(store, folders) if store is not None else None

    async def symbolize(self, asked: PasteRequest) -> PasteAnswer:
        """A paste with answers.

        Raises:
            ServerError: The paste is too long.
        """
        service = self._service
        most = service.settings.limits.max_paste
        if len(asked.text) > most:
            title = f"please limit a paste to <= {most} characters"
            raise ServerError(_TOO_LARGE, title)
        work = await service.opening.run(self._prepare, asked)
        wanted = [module for module in work.modules if module.key is not None]
        await service.opening.open_all(wanted)
        return await service.run(work.answer)

    def _prepare(self, asked: PasteRequest) -> PasteWork:
        name = asked.module.strip()[:_LONGEST_QUERY]
        chosen = module_of_path(name) if name else None
        stack = parse_pasted_stack(asked.text, chosen)
        work = PasteWork(stack, asked.choices, self._service.path_map)
        if self._listing is not None:
            work.identify(self._listing)
        return work

    def modules(self, query: str, first: int) -> dict[str, Any]:
        """A part of the modules of the store that fit *query*."""
        found = self._listing.search(query) if self._listing is not None else []
        part = found[first : first + _PAGE_SIZE]
        return {
            "matched": len(found),
            "first": first,
            "modules": [module_shown(entry) for entry in part],
        }

    def module(self, debug_id: str) -> dict[str, Any]:
        """What is known of a module, and what is in it."""
        module, entry, reader = self._open(debug_id)
        header = reader.header
        contents = contents_of(module, self._service.memory)
        return {
            "module": module_shown(entry),
            "uuid": header.uuid.hex(),
            "version": header.version,
            "base_address": hex(header.base_address),
            "functions": len(reader),
            "files": header.num_files,
            "file_size": reader.size,
            "tree": contents.tree() if contents is not None else None,
        }

    def functions(self, debug_id: str, query: str) -> dict[str, Any]:
        """Functions of a module with *query* in their names."""
        module = self._open(debug_id)[0]
        contents = contents_of(module, self._service.memory)
        found = contents.search(query, _MOST_FUNCTIONS) if contents is not None else []
        return {
            "limit": _MOST_FUNCTIONS,
            "functions": [
                {"name": shown(each.name), "start": hex(each.start), "size": each.size}
                for each in found
            ],
        }

    def address(
        self, debug_id: str, address: int, *, is_offset: bool
    ) -> dict[str, Any]:
        """What is at one address of a module."""
        _module, _entry, reader = self._open(debug_id)
        link = address + reader.header.base_address if is_offset else address
        found = reader.lookup(link) if link < UINT64_END else None
        if found is None:
            return {"address": hex(link), "function": None, "calls": []}
        function, path_map = found.function, self._service.path_map
        return {
            "address": hex(link),
            "function": {
                "name": shown(function.name),
                "start": hex(function.start),
                "size": function.size,
            },
            "calls": [
                call_shown(
                    f.name, (f.directory, f.filename), f.line, f.offset, path_map
                )
                for f in found.frames
            ],
        }

    def misses(self) -> dict[str, Any]:
        """The modules that were asked for most often and not found."""
        misses = getattr(self._service.symbolizer.resolver, "misses", None)
        found = misses.most_missed(_MOST_MISSES) if misses is not None else []
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
        """What the page needs to know of the server."""
        store = self._service.symbolizer.store
        return {
            "version": gsym.__version__,
            "store": shown(store.path) if store is not None else "",
            "max_paste": self._service.settings.limits.max_paste,
            "takes_uploads": bool(self._service.settings.upload_tokens),
            "max_upload": self._service.settings.limits.max_upload,
        }

    def _open(self, debug_id: str) -> tuple[OpenModule, Entry, Reader]:
        """A module of the store, or of a folder, its properties, and its file.

        Raises:
            ServerError: It is not there, or cannot be converted.
        """
        try:
            key = key_of_debug_id("", debug_id)
        except ValueError as error:
            raise ServerError(_BAD_REQUEST, shown(str(error))) from None
        symbolizer, listing = self._service.symbolizer, self._listing
        module = symbolizer.find(key)
        if module is None and listing is not None and listing.in_folders(key.debug_id):
            module = symbolizer.open(key)
            if module.reader is None:
                raise ServerError(_NOT_FOUND, shown(module.reason))
        if module is None or module.entry is None or module.reader is None:
            raise ServerError(_NOT_FOUND, "this module is not in the store")
        return module, module.entry, module.reader


def page_data_routes(service: Service, data: PageData) -> list[Route]:
    """The endpoints below `/page/` that give JSON."""

    async def symbolize(request: Request) -> Response:
        with HeldBody(service.body_budget) as held:
            settings = service.settings
            most = settings.limits.max_paste * _ESCAPED + _OTHER_FIELDS
            limits = most, settings.limits.body_timeout
            body = await read_body(request, held, *limits, service.run)
            try:
                asked = msgspec.json.decode(body, type=PasteRequest)
            except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
                raise ServerError(_BAD_REQUEST, "Payload is not valid") from None
            return _json(await data.symbolize(asked))

    async def modules(request: Request) -> Response:
        first = _number(request, "first")
        query = _text(request, "query")
        return _json(await service.opening.run(data.modules, query, first))

    async def module(request: Request) -> Response:
        return await _answered(service, data.module, _text(request, "id"))

    async def functions(request: Request) -> Response:
        asked = _text(request, "id"), _text(request, "query")
        return await _answered(service, data.functions, *asked)

    async def address(request: Request) -> Response:
        debug_id, number = _text(request, "id"), _number(request, "address")
        is_offset = _text(request, "base") == "image"

        def look_up() -> dict[str, Any]:
            return data.address(debug_id, number, is_offset=is_offset)

        return await _answered(service, look_up)

    async def misses(_request: Request) -> Response:
        return _json(await service.run(data.misses))

    async def state(_request: Request) -> Response:
        return _json(data.state())

    return [
        Route("/page/symbolize", symbolize, methods=["POST"]),
        Route("/page/modules", modules, methods=["GET"]),
        Route("/page/module", module, methods=["GET"]),
        Route("/page/functions", functions, methods=["GET"]),
        Route("/page/address", address, methods=["GET"]),
        Route("/page/misses", misses, methods=["GET"]),
        Route("/page/state", state, methods=["GET"]),
    ]


async def _answered(service: Service, work: Any, *arguments: str) -> Response:
    try:
        # It may convert a module of a folder.
        return _json(await service.opening.run(work, *arguments))
    except GsymError as error:
        return _json({"title": shown(str(error))}, 500)


def _json(value: object, status: int = 200) -> Response:
    return Response(
        msgspec.json.encode(value),
        status,
        headers={"cache-control": "no-store", "x-content-type-options": "nosniff"},
        media_type="application/json",
    )


def _text(request: Request, name: str) -> str:
    return request.query_params.get(name, "")[:_LONGEST_QUERY]


def _number(request: Request, name: str) -> int:
    """A number of a query, decimal or with a prefix; 0 where it is missing.

    Raises:
        ServerError: It is none of 64 bits.
    """
    text = _text(request, name).strip() or "0"
    try:
        number = int(text, 0) if text.isalnum() else -1
    except ValueError:
        number = -1
    if not 0 <= number < UINT64_END:
        raise ServerError(_BAD_REQUEST, f"{name} is no number")
    return number
