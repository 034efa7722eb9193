"""Serves files of the store under the paths of symbol servers.

Of Breakpad's stores, of symstore (`symstore.py`), and of devfiler:
/NAME/ID/NAME.sym   /NAME/ID/NAME.gsym       /NAME/ID/NAME.json
/xx/yy/xxyy.../metadata.json   /xx/yy/xxyy.../ranges   /xx/yy/xxyy.../returnpads

In the last line, xxyy... is a FileID in URL-safe base64. metadata.json and ranges are
defined by devfiler, returnpads by gsym; ranges and returnpads are symbfiles in a zstd
stream.

Files of the store and of local sources by build id, as debuginfod has them:
/buildid/ID/debuginfo     /buildid/ID/executable   /buildid/ID/gsym   /buildid/ID/json
/buildid/ID/section/NAME  /buildid/ID/source/PATH  /metadata?key=KEY&value=VALUE

Source: debuginfod(8) of elfutils, "WEBAPI".
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Generator
from contextlib import closing, suppress
from fnmatch import translate
from io import FileIO
from itertools import islice
from posixpath import normpath
from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Match, Route
from starlette.types import Scope

from gsym.api.extensions import SourceRoots
from gsym.conversion.export import breakpad_blocks
from gsym.errors import (
    AmbiguousModuleError,
    FormatError,
    GsymError,
    UuidMismatchError,
)
from gsym.modules.key import (
    PART,
    SAME,
    ModuleKey,
    compare,
    key_of_build_id,
    key_of_debug_id,
)
from gsym.modules.source_files import sources_of_module
from gsym.reading.reader import open as open_reader
from gsym.records import NamedTuple
from gsym.server.answers import FileBody, TextBody, body_response
from gsym.server.errors import HttpError, json_response
from gsym.server.modules import confined_binaries, store_path
from gsym.server.reports import shown
from gsym.server.service import Service
from gsym.server.symstore import is_in_index, symstore_file
from gsym.store.binary_facts import KINDS, BinaryFacts, facts_of
from gsym.store.directory import Store
from gsym.store.entries import Entry, resolved
from gsym.store.received_symbfile import key_of_file_id, return_pads_path
from gsym.store.sidecar import entry_text
from gsym.symbfile.file_id import FileId

UNSURE = "x-gsym-unsure"
SEVERAL = "several modules that differ have this id"
_BINARY = "application/octet-stream"
_TYPES = {"sym": "text/plain; charset=utf-8", "json": "application/json"}
_NAMED_KINDS = {"sym", "gsym", "json"}
_FORMAT = 2  # of the texts that are made: what others keep of an older one is replaced
_DROPPED = {".pdb", ".dll", ".exe"}
_LONGEST_MAGIC = 32
_ANY = (b"",)  # the beginning of any file
_MOST_FILES = 1000  # of an answer
_LONGEST_VALUE = 1024
_LETTERS = 2  # of a FileID in each folder name
_VERSION = 1  # of metadata.json


def download_routes(service: Service) -> list[Route]:
    """The endpoints, if enabled."""
    if not service.settings.enable_downloads:
        return []
    downloads = _Downloads(service)
    endpoints = {
        "/buildid/{build_id}/section/{name}": downloads.section,
        "/buildid/{build_id}/source/{path:path}": downloads.source,
        "/buildid/{build_id}/{kind}": downloads.by_build_id,
        "/metadata": downloads.metadata,
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
        self._settings = settings = service.settings
        self._store = Store(store_path(settings))
        self._roots = SourceRoots(settings.source_roots)
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
        found = await self._find(wanted.key)
        return await self._original(request, *wanted, found.entry)

    async def by_build_id(self, request: Request) -> Response:
        """The file at a path of debuginfod."""
        kind = request.path_params["kind"]
        if kind not in {"gsym", "json", *KINDS}:
            raise HttpError(404)
        key, found = await self._of_build_id(request)
        if kind in KINDS:
            return await self._original(request, key, kind, _ANY, found.entry)
        return await self._answer(request, found, kind)

    async def section(self, request: Request) -> Response:
        """The bytes of a section, as they are in the debug file or the executable."""
        key, _ = await self._of_build_id(request)
        name = request.path_params["name"]
        run = self._service.opening.run
        file, (start, end), unsure = await run(self._open_section, key, name)
        headers = {
            "content-type": _BINARY,
            "x-debuginfod-size": str(end - start),
            **_unsure_header(unsure),
        }
        # A section may have any name.
        tag = f"{os.fstat(file.fileno()).st_mtime_ns:x}-{quote(name)}"
        # Read, not mapped: the file may be truncated while it is sent.
        body = FileBody(file, (start, end))
        return body_response(request, self._service, body, tag, headers)

    async def source(self, request: Request) -> Response:
        """A source file of the module with a build id."""
        key, (entry, *_) = await self._of_build_id(request)
        if entry is None and await self._service.run(self._is_local, key):
            entry = (await self._service.opening.open(key)).entry
        if entry is None or not self._settings.enable_source:
            raise HttpError(404)
        path = "/" + request.path_params["path"]
        text = await self._service.run(self._source_text, entry, path)
        return Response(text, media_type=_BINARY)

    async def metadata(self, request: Request) -> Response:
        """The binaries whose build id, path or name is the one that was asked for."""
        key = request.query_params.get("key", "")
        value = request.query_params.get("value", "")
        if key not in {"glob", "file", "buildid"}:
            raise HttpError(400, "key must be glob, file or buildid")
        if len(value) > _LONGEST_VALUE:
            raise HttpError(400, f"value has more than {_LONGEST_VALUE} characters")
        # It may open many files, which must not delay answers.
        found = await self._service.opening.run(self._metadata, key, value)
        return json_response(found)

    async def _of_build_id(self, request: Request) -> tuple[ModuleKey, _Found]:
        """The key in a path, and its module."""
        try:
            key = key_of_build_id(bytes.fromhex(request.path_params["build_id"]))
        except ValueError:
            raise _not_found("invalid module id") from None
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
        body, tag = await run(_open_symbfile, store, file_id, name)
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
        if not self._settings.fetch_downloads:
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
            raise _not_found(found.reason)
        body = await self._service.run(self._open, entry, kind)
        version = os.path.basename(os.path.dirname(entry.path))
        content_type = _TYPES.get(kind, _BINARY)
        headers = {"content-type": content_type, **_unsure_header(found.unsure)}
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
            raise _not_found(error.reason) from None
        raise _not_found("the module was removed")

    # ---- the files that modules were made of, and those with their source code

    async def _original(
        self,
        request: Request,
        key: ModuleKey,
        kind: str,
        magics: tuple[bytes, ...],
        entry: Entry | None,
    ) -> Response:
        """A file of a module: of a kind, or any, that starts with one of *magics*."""
        # It may unpack the file, which must not delay answers.
        run = self._service.opening.run
        file, name, unsure = await run(self._open_original, key, kind, magics)
        status = os.fstat(file.fileno())
        named = entry.identity.debug_file if entry is not None else ""
        named = (named or name).encode("ascii", "replace").decode()
        headers = {
            "content-type": _BINARY,
            "x-debuginfod-file": quote(named, safe=" +@~()[]{}"),
            "x-debuginfod-size": str(status.st_size),
            **_unsure_header(unsure),
        }
        tag = f"{status.st_ino:x}-{status.st_mtime_ns:x}"
        return body_response(request, self._service, FileBody(file), tag, headers)

    def _open_original(
        self, key: ModuleKey, kind: str, magics: tuple[bytes, ...]
    ) -> tuple[FileIO, str, str]:
        """The file, its name, and why it may be of another build."""
        with closing(self._binaries(key, kind)) as found:
            for each in found:
                with suppress(OSError):
                    file = FileIO(each.path)
                    if file.read(_LONGEST_MAGIC).startswith(magics):
                        return file, each.name, each.unsure
                    file.close()
        raise _not_found(f"the server has no {kind or 'such file'} of the module")

    def _open_section(
        self, key: ModuleKey, name: str
    ) -> tuple[FileIO, tuple[int, int], str]:
        """A file, the part of it that is a section, and why it may be of another."""
        for kind in KINDS:
            with closing(self._binaries(key, kind, name)) as found:
                for _, path, (start, end), unsure in found:
                    with suppress(OSError):
                        if start < end:
                            return FileIO(path), (start, end), unsure
        raise _not_found(f"the module has no section {name}")

    def _binaries(
        self, key: ModuleKey, kind: str, section: str = ""
    ) -> Generator[_Binary]:
        """The binaries of a module: stored, in folders, packages, fetched.

        Raises:
            HttpError: It is not known which one is right.
        """
        found = self._service.symbolizer.resolver.binaries(
            *(key, kind or "image"),
            fetches=self._settings.fetch_downloads,
            keeps=False,
        )
        try:
            for each in found:
                read = self._confined.facts if each.is_copy else facts_of
                with suppress(GsymError, OSError):
                    facts = read(each.path, section)
                    unsure = _unsure(facts, key)
                    if not kind or kind in facts.kinds:
                        name = os.path.basename(each.location)
                        yield _Binary(name, each.path, facts.part, unsure)
        except AmbiguousModuleError:
            raise _not_found(SEVERAL) from None

    def _source_text(self, entry: Entry, path: str) -> bytes:
        most = self._settings.limits.max_source
        text = None
        with open_reader(entry.path) as reader:
            wanted = _plain(path)  # clients ask for what DWARF has
            known = next(
                (each for each in reader.files() if _plain(each) == wanted), ""
            )
            with suppress(OSError, FormatError):
                text = sources_of_module(reader).text(known)
                if known and text is None:
                    text = self._roots.read(known, most)
        if text is None:
            raise _not_found("no such source file of the module")
        if len(text) > most:
            raise HttpError(413, f"the file has more than {most} bytes")
        return text

    def _metadata(self, key: str, value: str) -> dict[str, object]:
        # `fnmatch` itself keeps the patterns of all clients in memory.
        pattern = re.compile(translate(value) if key == "glob" else re.escape(value))
        wanted = (
            (name, build_id, kinds)
            for name, build_id, kinds in self._named()
            if (
                build_id == value.lower()
                if key == "buildid"
                else pattern.fullmatch(name) is not None
            )
        )
        results = [
            {"buildid": build_id, "type": kind, "file": shown(name)}
            for name, build_id, kinds in islice(wanted, _MOST_FILES)
            for kind in (_kinds(kinds, build_id) if isinstance(kinds, str) else kinds)
        ]
        return {"results": results, "complete": next(wanted, None) is None}

    def _named(self) -> Generator[tuple[str, str, str | tuple[str, ...]]]:
        """The binaries in folders and packages: name, build id, and path or kinds."""
        for folder in self._service.symbolizer.resolver.loose_folders:
            for path, build_id in folder.build_ids():
                yield folder.name_of(path), build_id, path
            for member in folder.packages.all() if folder.packages else ():
                yield member.name, member.build_id, tuple(member.kinds)


class _Found(NamedTuple):
    """A module that was asked for."""

    entry: Entry | None  # the module; None if it was not found
    reason: str  # why it was not
    unsure: str = ""  # why it may be another build


class _Binary(NamedTuple):
    """A binary of a module."""

    name: str
    path: str
    part: tuple[int, int]  # start and end of the section that was asked for
    unsure: str  # why it may be of another build


def _unsure(facts: BinaryFacts, key: ModuleKey) -> str:
    """The reason why a binary may be of another build, or ""; GsymError if it is."""
    results = (compare(key, each) for each in facts.modules)
    compared = {each.outcome: each for each in results}
    for outcome in (SAME, PART):
        if outcome in compared:
            return compared[outcome].reason
    raise UuidMismatchError("is of another build")


def _kinds(path: str, build_id: str) -> tuple[str, ...]:
    """The kinds of a file with a build id, perhaps."""
    with suppress(GsymError, OSError):
        facts = facts_of(path)
        _unsure(facts, ModuleKey(code_id=build_id))
        return facts.kinds
    return ()


def _unsure_header(unsure: str) -> dict[str, str]:
    """The header with the reason why a file may be of another build."""
    return {UNSURE: unsure.encode("ascii", "replace").decode()} if unsure else {}


def _plain(path: str) -> str:
    """A path without "." and "..", with single slashes."""
    return normpath("/" + path.lstrip("/")) if path.startswith("/") else normpath(path)


def _not_found(reason: str) -> HttpError:
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
