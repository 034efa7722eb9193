"""Serves files of the store and of local sources by build id, as debuginfod does.

/buildid/ID/debuginfo     /buildid/ID/executable   /buildid/ID/gsym   /buildid/ID/json
/buildid/ID/section/NAME  /buildid/ID/source/PATH  /metadata?key=KEY&value=VALUE

Source: debuginfod(8) of elfutils, "WEBAPI".
"""

from __future__ import annotations

import os
import re
from collections.abc import Generator
from contextlib import closing, suppress
from fnmatch import translate
from functools import partial
from io import FileIO
from itertools import islice
from posixpath import normpath
from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from gsym.api.extensions import SourceRoots
from gsym.errors import AmbiguousModuleError, FormatError, GsymError
from gsym.modules.key import ModuleKey, key_of_build_id
from gsym.modules.source_files import sources_of_module
from gsym.reading.reader import open as open_reader
from gsym.server.answers import FileBody, body_response
from gsym.server.downloads import (
    BINARY_TYPE,
    Downloads,
    FoundModule,
    file_routes,
    not_found,
    unsure_header,
    unsure_of,
)
from gsym.server.errors import HttpError, json_response
from gsym.server.service import Service
from gsym.server.shown_modules import shown
from gsym.store.binary_facts import KINDS, facts_of
from gsym.store.entries import Entry

_ANY = (b"",)  # the beginning of any file
_MOST_FILES = 1000  # of an answer
_LONGEST_VALUE = 1024


def debuginfod_routes(service: Service) -> list[Route]:
    """The endpoints, if enabled."""
    files = _Debuginfod(service)
    endpoints = {
        "/buildid/{build_id}/section/{name}": files.section,
        "/buildid/{build_id}/source/{path:path}": files.source,
        "/buildid/{build_id}/{kind}": files.by_build_id,
        "/metadata": files.metadata,
    }
    return file_routes(service, endpoints)


class _Debuginfod:
    """Finds modules by build id and sends their files."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._settings = settings = service.settings
        self._downloads = Downloads(service)
        self._roots = SourceRoots(settings.source_roots)

    async def by_build_id(self, request: Request) -> Response:
        """The file at a path of debuginfod."""
        kind = request.path_params["kind"]
        if kind not in {"gsym", "json", *KINDS}:
            raise HttpError(404)
        key, found = await self._of_build_id(request)
        if kind in KINDS:
            return await self._downloads.original(request, key, kind, _ANY, found.entry)
        return await self._downloads.answer(request, found, kind)

    async def section(self, request: Request) -> Response:
        """The bytes of a section, as they are in the debug file or the executable."""
        key, _ = await self._of_build_id(request)
        name = request.path_params["name"]
        work = partial(self._open_section, key, name)
        file, (start, end), unsure = await self._downloads.search(work)
        headers = {
            "content-type": BINARY_TYPE,
            "x-debuginfod-size": str(end - start),
            **unsure_header(unsure),
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
        return Response(text, media_type=BINARY_TYPE)

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

    async def _of_build_id(self, request: Request) -> tuple[ModuleKey, FoundModule]:
        """The key in a path, and its module."""
        try:
            key = key_of_build_id(bytes.fromhex(request.path_params["build_id"]))
        except ValueError:
            raise not_found("invalid module id") from None
        return key, await self._downloads.find(key)

    def _is_local(self, key: ModuleKey) -> bool:
        """Whether a folder has a file of a module, which is no download."""
        resolver = self._service.symbolizer.resolver
        with suppress(AmbiguousModuleError):
            return next(iter(resolver.local_files(key)), None) is not None
        return False

    def _open_section(
        self, key: ModuleKey, name: str, *, fetches: bool
    ) -> tuple[FileIO, tuple[int, int], str]:
        """A file, the part of it that is a section, and why it may be of another."""
        for kind in KINDS:
            binaries = self._downloads.binaries(key, kind, name, fetches=fetches)
            with closing(binaries) as found:
                for _, path, (start, end), unsure in found:
                    with suppress(OSError):
                        if start < end:
                            return FileIO(path), (start, end), unsure
        raise not_found(f"the module has no section {name}")

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
            raise not_found("no such source file of the module")
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


def _kinds(path: str, build_id: str) -> tuple[str, ...]:
    """The kinds of a file; empty if it has another build id, or cannot be read."""
    with suppress(GsymError, OSError):
        facts = facts_of(path)
        unsure_of(facts, ModuleKey(code_id=build_id))
        return facts.kinds
    return ()


def _plain(path: str) -> str:
    """A path without "." and "..", with single slashes."""
    return normpath("/" + path.lstrip("/")) if path.startswith("/") else normpath(path)
