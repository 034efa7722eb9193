"""Serves files of the store under the paths of symbol servers.

Those of Breakpad's stores, of symstore (`symstore.py`), and of devfiler:
/NAME/ID/NAME.sym   /NAME/ID/NAME.gsym       /NAME/ID/NAME.json
/xx/yy/xxyy.../metadata.json   /xx/yy/xxyy.../ranges   /xx/yy/xxyy.../returnpads

In the last line, xxyy... is a FileID in URL-safe base64. metadata.json and ranges are
defined by devfiler, returnpads by gsym; ranges and returnpads are symbfiles in a zstd
stream.

Files by build id are in `debuginfod.py`.
"""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Generator, Mapping
from contextlib import closing, suppress
from functools import partial
from io import FileIO
from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Match, Route
from starlette.types import Scope

from gsym.conversion.export import breakpad_blocks
from gsym.errors import AmbiguousModuleError, GsymError, UuidMismatchError
from gsym.modules.key import PART, SAME, ModuleKey, compare, key_of_debug_id
from gsym.reading.reader import open as open_reader
from gsym.records import NamedTuple
from gsym.server.answers import FileBody, TextBody, body_response
from gsym.server.errors import HttpError, json_response
from gsym.server.modules import confined_binaries, store_path
from gsym.server.service import Result, Service
from gsym.server.symstore import is_in_index, symstore_file
from gsym.store.binary_facts import BinaryFacts, facts_of
from gsym.store.directory import Store
from gsym.store.entries import Entry, resolved
from gsym.store.received_symbfile import key_of_file_id, return_pads_path
from gsym.store.sidecar import entry_text
from gsym.symbfile.file_id import FileId

UNSURE = "x-gsym-unsure"
SEVERAL = "several modules that differ have this id"
BINARY_TYPE = "application/octet-stream"
_TYPES = {"sym": "text/plain; charset=utf-8", "json": "application/json"}
_NAMED_KINDS = {"sym", "gsym", "json"}
_FORMAT = 2  # of the texts that are made: what others keep of an older one is replaced
_DROPPED = {".pdb", ".dll", ".exe"}
_LONGEST_MAGIC = 32
_LETTERS = 2  # of a FileID in each folder name
_VERSION = 1  # of metadata.json


def download_routes(service: Service) -> list[Route]:
    """The endpoints, if enabled."""
    downloads = Downloads(service)
    endpoints = {
        "/{name}/{module_id}/{file}": downloads.by_name,
        "/{first}/{second}/{file_id}/{file}": downloads.by_file_id,
    }
    return file_routes(service, endpoints)


def file_routes(
    service: Service, endpoints: Mapping[str, Callable[[Request], Awaitable[Response]]]
) -> list[Route]:
    """Routes of files by their paths, if downloads are enabled."""
    if not service.settings.enable_downloads:
        return []
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


class Downloads:
    """Finds modules and sends their files."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._settings = settings = service.settings
        self._store = Store(store_path(settings))
        self._confined = confined_binaries(settings)

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
        run, other = self._service.run, FoundModule(None, "")
        if not (key and (await run(self._get, key)).entry):
            other = await run(self._get, by_code)
        if other.entry is None:
            found = await self.find(key) if key else other
            return await self.answer(request, found, kind)
        name = other.entry.identity.debug_file
        stem = name[: -len(".pdb")] if name.lower().endswith(".pdb") else name
        parts = (name, other.entry.identity.debug_id, f"{stem}.{kind}")
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
        found = await self.find(wanted.key)
        return await self.original(request, *wanted, found.entry)

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
        body, tag = await run(_open_symbfile, store, file_id, name)
        headers = {"content-type": BINARY_TYPE}
        return body_response(request, self._service, body, tag, headers)

    async def find(self, key: ModuleKey) -> FoundModule:
        """The module, or the reason why it was not found."""
        if not self._settings.fetch_downloads:
            return await self._service.run(self._get, key)
        module = await self._service.opening.open(key)
        # What the sources said contains folders of this machine.
        reason = "neither the store nor a source has the module"
        return FoundModule(module.entry, reason, module.unsure)

    def _get(self, key: ModuleKey) -> FoundModule:
        missing = "the store does not have the module"
        try:
            entry = self._store.get(key)
        except AmbiguousModuleError:
            return FoundModule(None, SEVERAL)
        except GsymError as error:
            return FoundModule(None, error.reason)
        if entry is None:
            return FoundModule(None, missing)
        found = resolved(key, entry)
        return FoundModule(found.entry, missing, found.unsure)

    async def answer(self, request: Request, found: FoundModule, kind: str) -> Response:
        """The answer with a file of a module; 404 if that was not found."""
        entry = found.entry
        if entry is None:
            raise not_found(found.reason)
        body = await self._service.run(self._open, entry, kind)
        version = os.path.basename(os.path.dirname(entry.path))
        content_type = _TYPES.get(kind, BINARY_TYPE)
        headers = {"content-type": content_type, **unsure_header(found.unsure)}
        tag = f"{version}-{kind}-{_FORMAT}"
        return body_response(request, self._service, body, tag, headers)

    def _open(self, entry: Entry, kind: str) -> FileBody | TextBody:
        """A file of the module, open, as it may be replaced while it is sent."""
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

    # ---- the files that modules were made of

    async def original(
        self,
        request: Request,
        key: ModuleKey,
        kind: str,
        magics: tuple[bytes, ...],
        entry: Entry | None,
    ) -> Response:
        """A file of a module: of a kind, or any, that starts with one of *magics*."""
        work = partial(self._open_original, key, kind, magics)
        file, name, unsure = await self.search(work)
        status = os.fstat(file.fileno())
        named = entry.identity.debug_file if entry is not None else ""
        named = (named or name).encode("ascii", "replace").decode()
        headers = {
            "content-type": BINARY_TYPE,
            "x-debuginfod-file": quote(named, safe=" +@~()[]{}"),
            "x-debuginfod-size": str(status.st_size),
            **unsure_header(unsure),
        }
        tag = f"{status.st_ino:x}-{status.st_mtime_ns:x}"
        return body_response(request, self._service, FileBody(file), tag, headers)

    async def search(self, work: Callable[..., Result]) -> Result:
        """The result of *work* without asking sources, else perhaps with them.

        It may unpack files, which must not delay answers.
        """
        opening, local = self._service.opening, partial(work, fetches=False)
        if not self._settings.fetch_downloads:
            return await opening.run(local)
        with suppress(HttpError):
            return await opening.run(local)
        return await opening.run(partial(work, fetches=True), fetches=True)

    def _open_original(
        self, key: ModuleKey, kind: str, magics: tuple[bytes, ...], *, fetches: bool
    ) -> tuple[FileIO, str, str]:
        """The file, its name, and why it may be of another build."""
        with closing(self.binaries(key, kind, fetches=fetches)) as found:
            for each in found:
                with suppress(OSError):
                    file = FileIO(each.path)
                    if file.read(_LONGEST_MAGIC).startswith(magics):
                        return file, each.name, each.unsure
                    file.close()
        raise not_found(f"the server has no {kind or 'such file'} of the module")

    def binaries(
        self, key: ModuleKey, kind: str, section: str = "", *, fetches: bool
    ) -> Generator[Binary]:
        """The binaries of a module: stored, in folders, packages, perhaps fetched.

        Raises:
            HttpError: It is not known which one is right.
        """
        found = self._service.symbolizer.resolver.binaries(
            key, kind or "image", fetches=fetches, keeps=False
        )
        try:
            for each in found:
                read = self._confined.facts if each.is_copy else facts_of
                with suppress(GsymError, OSError):
                    facts = read(each.path, section)
                    unsure = unsure_of(facts, key)
                    if not kind or kind in facts.kinds:
                        name = os.path.basename(each.location)
                        yield Binary(name, each.path, facts.part, unsure)
        except AmbiguousModuleError:
            raise not_found(SEVERAL) from None


class FoundModule(NamedTuple):
    """A module that was asked for."""

    entry: Entry | None  # the module; None if it was not found
    reason: str  # why it was not
    unsure: str = ""  # why it may be another build


class Binary(NamedTuple):
    """A binary of a module."""

    name: str
    path: str
    part: tuple[int, int]  # start and end of the section that was asked for
    unsure: str  # why it may be of another build


def unsure_of(facts: BinaryFacts, key: ModuleKey) -> str:
    """The reason why a binary may be of another build, or ""; GsymError if it is."""
    results = (compare(key, each) for each in facts.modules)
    compared = {each.outcome: each for each in results}
    for outcome in (SAME, PART):
        if outcome in compared:
            return compared[outcome].reason
    raise UuidMismatchError("is of another build")


def unsure_header(unsure: str) -> dict[str, str]:
    """The header with the reason why a file may be of another build."""
    return {UNSURE: unsure.encode("ascii", "replace").decode()} if unsure else {}


def not_found(reason: str) -> HttpError:
    """The error for a missing file."""
    return HttpError(404, f"404 Not Found: {reason}")


def _opened(entry: Entry, kind: str) -> FileBody | TextBody:
    if kind == "gsym":
        return FileBody(FileIO(entry.path))
    if kind == "json":
        return TextBody(iter([entry_text(entry)]), lambda: None)
    if "sym" in entry.originals:
        return FileBody(FileIO(entry.originals["sym"]))
    reader = open_reader(entry.path)
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


def _file_id(request: Request) -> FileId:
    """The FileID in a path; HttpError if that is invalid."""
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


def _open_symbfile(store: Store, file_id: FileId, name: str) -> tuple[FileBody, str]:
    """A symbfile and its entity tag; HttpError if there is none."""
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
