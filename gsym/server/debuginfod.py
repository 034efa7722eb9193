"""Serves files of the store and of local sources by build id, as debuginfod does.

/buildid/ID/debuginfo     /buildid/ID/executable   /buildid/ID/gsym   /buildid/ID/json
/buildid/ID/section/NAME  /buildid/ID/source/PATH  /metadata?key=KEY&value=VALUE

Source: debuginfod(8) of elfutils, "WEBAPI".
"""

from __future__ import annotations

import os
import re
from contextlib import suppress
from fnmatch import translate
from io import FileIO
from itertools import islice
from posixpath import normpath
from urllib.parse import quote

import msgspec
from starlette.responses import Response

from gsym.containers.mapped_file import map_file
from gsym.containers.object_file import ObjectFile
from gsym.errors import GsymError
from gsym.reading.reader import open as open_reader
from gsym.server.errors import ServerError
from gsym.server.file_responses import FileBody, body_response
from gsym.store.modules import ModuleKey, key_of_build_id
from gsym.symbolication.source import SourceRoots

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from starlette.requests import Request

    from gsym.server.service import Service
    from gsym.store.modules import Entry

_BINARY = "application/octet-stream"
_DEBUG_SECTIONS = (b".debug_info", b".symtab", b".zdebug_info", b".debug_line")
_KINDS = ("debuginfo", "executable")
_MOST_FILES = 1000  # of an answer
_LONGEST_VALUE = 1024


class BinaryFiles:
    """The binaries of a server: originals in its store, files of local sources."""

    def __init__(self, service: Service) -> None:
        self._service = service
        settings = service.settings
        self._roots = SourceRoots(settings.source_roots)
        self._has_source = settings.enable_source

    async def file(
        self, request: Request, key: ModuleKey, entry: Entry | None, kind: str
    ) -> Response:
        """The debug file or the executable of a module.

        Raises:
            ServerError: There is none.
        """
        file = await self._service.run(self._open, key, entry, kind)
        status = os.fstat(file.fileno())
        name = entry.identity.debug_file if entry is not None else ""
        named = name or os.path.basename(str(file.name))
        named = named.encode("ascii", "replace").decode()
        headers = {
            "content-type": _BINARY,
            "x-debuginfod-file": quote(named, safe=" +@~()[]{}"),
            "x-debuginfod-size": str(status.st_size),
        }
        tag = f"{status.st_ino:x}-{status.st_mtime_ns:x}"
        return body_response(request, self._service, FileBody(file), tag, headers)

    async def section(
        self, request: Request, key: ModuleKey, entry: Entry | None, name: str
    ) -> Response:
        """The bytes of a section, as they are in the debug file or the executable.

        Raises:
            ServerError: Neither has it.
        """
        body, tag = await self._service.run(self._section, key, entry, name)
        headers = {"content-type": _BINARY, "x-debuginfod-size": str(body.size)}
        return body_response(request, self._service, body, tag, headers)

    async def source(self, entry: Entry | None, path: str) -> Response:
        """A source file of a module.

        Raises:
            ServerError: The module does not refer to it, or the server does not have
                it.
        """
        if entry is None or not self._has_source:
            raise ServerError(404)
        text = await self._service.run(self._source, entry, path)
        return Response(text, media_type=_BINARY)

    async def metadata(self, request: Request) -> Response:
        """The binaries whose build id, path or name is the one that was asked for."""
        key = request.query_params.get("key", "")
        value = request.query_params.get("value", "")
        if key not in {"glob", "file", "buildid"}:
            raise ServerError(400, "key must be glob, file or buildid")
        if len(value) > _LONGEST_VALUE:
            raise ServerError(400, f"value has more than {_LONGEST_VALUE} characters")
        # It may open many files, which must not delay answers.
        found = await self._service.opening.run(self._metadata, key, value)
        return Response(msgspec.json.encode(found), media_type="application/json")

    def _paths(self, key: ModuleKey, entry: Entry | None) -> Iterator[str]:
        original = None if entry is None else entry.originals.get("debuginfo")
        if original is not None:
            yield original
        yield from self._service.symbolizer.resolver.local_files(key)

    def _open(self, key: ModuleKey, entry: Entry | None, kind: str) -> FileIO:
        for path in self._paths(key, entry):
            if kind in _kinds(path, key):
                with suppress(FileNotFoundError):  # removed since
                    return FileIO(path)
        raise not_found(f"the server has no {kind} of the module")

    def _section(
        self, key: ModuleKey, entry: Entry | None, name: str
    ) -> tuple[FileBody, str]:
        wanted = name.encode("utf-8", "surrogateescape")
        for kind in _KINDS:
            for path in self._paths(key, entry):
                if kind not in _kinds(path, key):
                    continue
                with ObjectFile(map_file(path), path) as binary:
                    start, end = binary.stored_range(wanted) or (0, 0)
                if start < end:
                    # Read, not mapped: the file may be truncated while it is sent.
                    file = FileIO(path)
                    # A section may have any name.
                    tag = f"{os.fstat(file.fileno()).st_mtime_ns:x}-{quote(name)}"
                    return FileBody(file, (start, end)), tag
        raise not_found(f"the module has no section {name}")

    def _source(self, entry: Entry, path: str) -> bytes:
        most = self._service.settings.limits.max_source
        with open_reader(entry.path) as reader:
            known = next(
                (each for each in reader.files() if normpath(each) == path), ""
            )
        try:
            text = self._roots.read(known, most) if known else None
        except OSError:
            text = None
        if text is None:
            raise not_found("no such source file of the module")
        if len(text) > most:
            raise ServerError(413, f"the file has more than {most} bytes")
        return text

    def _metadata(self, key: str, value: str) -> dict[str, object]:
        # `fnmatch` itself keeps the patterns of all clients in memory.
        pattern = re.compile(translate(value) if key == "glob" else re.escape(value))

        def matches(path: str, build_id: str) -> bool:
            if key == "buildid":
                return build_id == value.lower()
            return pattern.fullmatch(path) is not None

        files = self._service.symbolizer.resolver.all_local_files()
        wanted = ((path, each) for path, each in files if matches(path, each))
        results = [
            {"buildid": build_id, "type": kind, "file": path}
            for path, build_id in islice(wanted, _MOST_FILES)
            for kind in _kinds(path, key_of_build_id(bytes.fromhex(build_id)))
        ]
        return {"results": results, "complete": next(wanted, None) is None}


def not_found(reason: str) -> ServerError:
    """The error for a missing file."""
    return ServerError(404, f"404 Not Found: {reason}")


def _kinds(path: str, key: ModuleKey) -> list[str]:
    """What a file is, if it has the build id of *key*."""
    try:
        with ObjectFile(map_file(path), path) as binary:
            if binary.is_elf and key.code_id.lower() != binary.uuid.hex():
                return []
            # As stored: inflated, it could take any memory.
            text = binary.stored_section(b".text") if binary.is_elf else None
            is_debug = any(map(binary.has_section, _DEBUG_SECTIONS))
            found = (is_debug or not binary.is_elf, text is not None and len(text) > 0)
    except (GsymError, OSError):
        return []
    return [kind for kind, is_so in zip(_KINDS, found, strict=True) if is_so]
