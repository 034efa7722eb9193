"""Serves files of the store under the paths of Breakpad, symstore and devfiler.

/NAME/ID/NAME.sym   /NAME/ID/NAME.gsym       /NAME/ID/NAME.json
/xx/yy/xxyy.../metadata.json   /xx/yy/xxyy.../ranges   /xx/yy/xxyy.../returnpads

In the last line, xxyy... is a FileID in URL-safe base64. metadata.json and ranges are
defined by devfiler, returnpads by gsym; ranges and returnpads are symbfiles in a zstd
stream.
"""

from __future__ import annotations

import os
from contextlib import suppress
from io import FileIO
from urllib.parse import quote

from starlette.responses import RedirectResponse, Response
from starlette.routing import Match, Route

import gsym.reading.reader
from gsym.conversion.export import breakpad_blocks
from gsym.errors import AmbiguousModuleError, GsymError
from gsym.modules.key import ModuleKey, key_of_build_id, key_of_debug_id
from gsym.records import NamedTuple
from gsym.server.debuginfod import SEVERAL, BinaryFiles, not_found, unsure_header
from gsym.server.errors import HttpError, json_response
from gsym.server.file_responses import FileBody, TextBody, body_response
from gsym.server.modules import store_path
from gsym.server.symstore import is_in_index, symstore_file
from gsym.store.directory import Store
from gsym.store.entries import resolved
from gsym.store.received_symbfile import key_of_file_id, return_pads_path
from gsym.store.sidecar import entry_text
from gsym.symbfile.file_id import FileId

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Callable

    from starlette.requests import Request
    from starlette.types import Scope

    from gsym.server.service import Service
    from gsym.store.entries import Entry


_BINARY = "application/octet-stream"
_TYPES = {"sym": "text/plain; charset=utf-8", "json": "application/json"}
_NAMED_KINDS = {"sym", "gsym", "json"}
_FORMAT = 2  # of the texts that are made: what others keep of an older one is replaced
_DROPPED = {".pdb", ".dll", ".exe"}


def download_routes(service: Service) -> list[Route]:
    """The endpoints, if enabled."""
    if not service.settings.enable_downloads:
        return []
    downloads = _Downloads(service)
    endpoints = {
        "/buildid/{build_id}/section/{name}": downloads.section,
        "/buildid/{build_id}/source/{path:path}": downloads.source,
        "/buildid/{build_id}/{kind}": downloads.by_build_id,
        "/metadata": downloads.binaries.metadata,
        "/{name}/{module_id}/{file}": downloads.by_name,
        "/{first}/{second}/{file_id}/{file}": downloads.by_file_id,
    }
    return [
        FileRoute(path, endpoint, methods=["GET", "HEAD"])
        for path, endpoint in endpoints.items()
    ]


class FileRoute(Route):
    """A route with a catch-all path, which must not answer 405 for other methods."""

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        """Match the request only if its method matches too."""
        match, found = super().matches(scope)
        return (Match.NONE, {}) if match is Match.PARTIAL else (match, found)


class _Downloads:
    """Finds modules and sends their files."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._store = Store(store_path(service.settings))
        self.binaries = BinaryFiles(service)

    async def by_name(self, request: Request) -> Response:
        """The file at a path of a Breakpad store."""
        name, file = request.path_params["name"], request.path_params["file"]
        module_id = request.path_params["module_id"]
        kind = _breakpad_kind(name, file)
        if not kind:
            return await self._of_symstore(request, name, module_id, file)
        try:
            key = key_of_debug_id(name, module_id)
        except ValueError:
            key = None
        # Windows debuggers request modules by code file and code id. What the store has
        # is answered before a source is asked for an id of another kind.
        by_code = ModuleKey(code_file=name, code_id=module_id.upper())
        run, other = self._service.run, None
        if not (key and (await run(self._get, key)).entry):
            other = (await run(self._get, by_code)).entry
        if other is None:
            return await self._answer(request, await self._find(key), kind)
        name = other.identity.debug_file
        stem = name[: -len(".pdb")] if name.lower().endswith(".pdb") else name
        parts = (name, other.identity.debug_id, f"{stem}.{kind}")
        path = "/".join(quote(part, safe="") for part in parts)
        root = request.scope.get("root_path", "")
        return RedirectResponse(f"{root}/{path}", 302)

    async def _of_symstore(
        self, request: Request, name: str, module_id: str, file: str
    ) -> Response:
        """The file at a path of Microsoft's symbol stores."""
        wanted = symstore_file(name, module_id, file)
        if wanted is None:
            raise HttpError(404)
        key = wanted.key
        entry = (await self._find(key)).entry
        return await self.binaries.file(request, key, entry, wanted.kind, wanted.magics)

    async def by_build_id(self, request: Request) -> Response:
        """The file at a path of debuginfod."""
        kind = request.path_params["kind"]
        if kind not in {"gsym", "json", "debuginfo", "executable"}:
            raise HttpError(404)
        key, found = await self._of_build_id(request)
        if kind in {"debuginfo", "executable"}:
            return await self.binaries.file(request, key, found.entry, kind)
        return await self._answer(request, found, kind)

    async def section(self, request: Request) -> Response:
        """A section of the binary with a build id."""
        key, _ = await self._of_build_id(request)
        name = request.path_params["name"]
        return await self.binaries.section(request, key, name)

    async def source(self, request: Request) -> Response:
        """A source file of the module with a build id."""
        key, (entry, *_) = await self._of_build_id(request)
        if entry is None and await self._service.run(self._is_local, key):
            entry = (await self._service.opening.open(key)).entry
        return await self.binaries.source(entry, "/" + request.path_params["path"])

    async def _of_build_id(self, request: Request) -> tuple[ModuleKey, _Found]:
        """The key in a path, and its module."""
        try:
            key = key_of_build_id(bytes.fromhex(request.path_params["build_id"]))
        except ValueError:
            raise not_found("invalid module id") from None
        return key, await self._find(key)

    async def by_file_id(self, request: Request) -> Response:
        """The symbfile at a path of devfiler, or its metadata.

        Or a file in an index of two levels, whose paths have as many parts.
        """
        first, second = (request.path_params[each] for each in ("first", "second"))
        name = request.path_params["file"]
        if is_in_index(first, second) and second.lower() == name.lower():
            module_id = request.path_params["file_id"]
            return await self._of_symstore(request, second, module_id, name)
        file_id = _file_id(request)
        run, store = self._service.run, self._store
        if name == "metadata.json" and await run(_ranges, store, file_id):
            references = {"dwarfFileID": file_id.base64}
            found = {"version": _VERSION, "symbolFileReferences": references}
            return json_response(found)
        body, tag = await run(_open, store, file_id, name)
        headers = {"content-type": _BINARY}
        return body_response(request, self._service, body, tag, headers)

    def _is_local(self, key: ModuleKey) -> bool:
        """Whether a folder has a file of a module, which is no download."""
        resolver = self._service.symbolizer.resolver
        with suppress(AmbiguousModuleError):
            return next(iter(resolver.local_files(key)), None) is not None
        return False

    async def _find(self, key: ModuleKey | None) -> _Found:
        """The module, or the reason why it was not found."""
        if key is None:
            return _Found(None, "invalid module id")
        if not self._service.settings.fetch_downloads:
            return await self._service.run(self._get, key)
        module = await self._service.opening.open(key)
        # What the sources said contains folders of this machine.
        reason = "neither the store nor a source has the module"
        return _Found(module.entry, reason, module.unsure)

    def _get(self, key: ModuleKey) -> _Found:
        missing = "the store does not have the module"
        try:
            entry = self._store.get(key)
        except AmbiguousModuleError:
            return _Found(None, SEVERAL)
        except GsymError as error:
            return _Found(None, error.reason)
        if entry is None:
            return _Found(None, missing)
        found = resolved(key, entry)
        return _Found(found.entry, missing, found.unsure)

    async def _answer(self, request: Request, found: _Found, kind: str) -> Response:
        entry = found.entry
        if entry is None:
            raise not_found(found.reason)
        body = await self._service.run(self._open, entry, kind)
        version = os.path.basename(os.path.dirname(entry.path))
        content_type = _TYPES.get(kind, _BINARY)
        headers = {"content-type": content_type, **unsure_header(found.unsure)}
        tag = f"{version}-{kind}-{_FORMAT}"
        return body_response(request, self._service, body, tag, headers)

    def _open(self, entry: Entry, kind: str) -> FileBody | TextBody:
        """A file of the module, open, as it may be replaced while it is sent.

        Raises:
            HttpError: The module has no such file.
        """
        try:
            with suppress(FileNotFoundError):
                return _opened(entry, kind)
            # The module was replaced since it was found.
            again = self._store.get(entry.identity)
            with suppress(FileNotFoundError):
                if again is not None:
                    return _opened(again, kind)
        except GsymError as error:
            raise not_found(error.reason) from None
        raise not_found("the module was removed")


class _Found(NamedTuple):
    """A module that was asked for."""

    entry: Entry | None  # the module; None if it was not found
    reason: str  # why it was not
    unsure: str = ""  # why it may be another build


def _opened(entry: Entry, kind: str) -> FileBody | TextBody:
    if kind == "gsym":
        return FileBody(FileIO(entry.path))
    if kind == "json":
        return TextBody(iter([entry_text(entry)]), lambda: None)
    if "sym" in entry.originals:
        return FileBody(FileIO(entry.originals["sym"]))
    reader = gsym.reading.reader.open(entry.path)
    try:
        blocks = breakpad_blocks(reader, entry.identity, entry.binaries)
    except (GsymError, ValueError) as error:
        reader.close()
        reason = error.reason if isinstance(error, GsymError) else str(error)
        raise GsymError(f"cannot write the module as .sym: {reason}") from None
    return TextBody(blocks, reader.close)


def _breakpad_kind(name: str, file: str) -> str:
    """The suffix in the last part of a path: "sym", "gsym" or "json"; else "".

    The part before it is the module's name, with or without the module's suffix.
    """
    stem, dot, kind = file.rpartition(".")
    bare, suffix = os.path.splitext(name)
    fits = stem == name or (suffix.lower() in _DROPPED and stem == bare)
    return kind if dot and fits and kind in _NAMED_KINDS else ""


_LETTERS = 2  # of a FileID in each folder name
_VERSION = 1  # of metadata.json


def _file_id(request: Request) -> FileId:
    """The FileID in a path.

    Raises:
        HttpError: The path is invalid.
    """
    named = request.path_params
    text = named["file_id"]
    folders = text[:_LETTERS], text[_LETTERS : 2 * _LETTERS]
    try:
        file_id = FileId.parse(text)
    except ValueError:
        raise HttpError(404) from None
    if file_id.base64 != text or folders != (named["first"], named["second"]):
        raise HttpError(404)
    return file_id


def _ranges(store: Store, file_id: FileId) -> str:
    """The path of the ranges, or ""."""
    try:
        entry = store.get(key_of_file_id(file_id))
    except GsymError:
        return ""
    return "" if entry is None else entry.originals.get("ranges", "")


def _open(store: Store, file_id: FileId, name: str) -> tuple[FileBody, str]:
    """A symbfile and its entity tag.

    Raises:
        HttpError: It does not exist.
    """
    find: dict[str, Callable[[], str]] = {
        "returnpads": lambda: return_pads_path(store.path, file_id),
        "ranges": lambda: _ranges(store, file_id),
    }
    for _ in range(2):  # again if it was replaced before it was opened
        with suppress(FileNotFoundError, KeyError):
            file = FileIO(find[name]())
            status = os.fstat(file.fileno())
            tag = f"{status.st_ino:x}-{status.st_mtime_ns:x}-{name}"
            return FileBody(file, is_packed=True), tag
    raise HttpError(404)
