"""Serves files of the store and of local sources by build id, as debuginfod does.

/buildid/ID/debuginfo     /buildid/ID/executable   /buildid/ID/gsym   /buildid/ID/json
/buildid/ID/section/NAME  /buildid/ID/source/PATH  /metadata?key=KEY&value=VALUE

Source: debuginfod(8) of elfutils, "WEBAPI".
"""

from __future__ import annotations

import os
import re
from contextlib import closing, contextmanager, suppress
from fnmatch import translate
from functools import partial
from io import FileIO
from itertools import islice
from posixpath import normpath
from urllib.parse import quote

from starlette.responses import Response

from gsym.api.source import SourceRoots
from gsym.errors import (
    AmbiguousModuleError,
    FormatError,
    GsymError,
    UuidMismatchError,
)
from gsym.modules.key import PART, SAME, ModuleKey, compare
from gsym.modules.source_files import sources_of_module
from gsym.reading.reader import open as open_reader
from gsym.records import NamedTuple
from gsym.server.errors import HttpError, json_response
from gsym.server.file_responses import FileBody, body_response
from gsym.server.modules import confined_binaries
from gsym.server.page_records import shown
from gsym.store.binary_facts import KINDS, facts_of

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator

    from starlette.requests import Request

    from gsym.server.service import Service
    from gsym.store.binary_facts import BinaryFacts
    from gsym.store.entries import Entry

UNSURE = "x-gsym-unsure"
SEVERAL = "several modules that differ have this id"
_LONGEST_MAGIC = 32
_BINARY = "application/octet-stream"
_MOST_FILES = 1000  # of an answer
_LONGEST_VALUE = 1024


class BinaryFiles:
    """The binaries of a server: originals in its store, files of local sources."""

    def __init__(self, service: Service) -> None:
        self._service = service
        settings = service.settings
        self._roots = SourceRoots(settings.source_roots)
        self._has_source = settings.enable_source
        self._fetches = settings.fetch_downloads
        self._confined = confined_binaries(settings)

    async def file(
        self,
        request: Request,
        key: ModuleKey,
        entry: Entry | None,
        kind: str,
        magics: tuple[bytes, ...] = (b"",),
    ) -> Response:
        """A file of a module: of a kind, or any, that starts with one of *magics*.

        Raises:
            HttpError: The server has no such file.
        """
        # It may unpack the file, which must not delay answers.
        found = await self._service.opening.run(self._open, key, kind, magics)
        status = os.fstat(found.file.fileno())
        named = entry.identity.debug_file if entry is not None else ""
        named = (named or found.name).encode("ascii", "replace").decode()
        headers = {
            "content-type": _BINARY,
            "x-debuginfod-file": quote(named, safe=" +@~()[]{}"),
            "x-debuginfod-size": str(status.st_size),
            **unsure_header(found.unsure),
        }
        tag = f"{status.st_ino:x}-{status.st_mtime_ns:x}"
        body = FileBody(found.file)
        return body_response(request, self._service, body, tag, headers)

    async def section(self, request: Request, key: ModuleKey, name: str) -> Response:
        """The bytes of a section, as they are in the debug file or the executable.

        Raises:
            HttpError: Neither has it.
        """
        run = self._service.opening.run
        body, tag, unsure = await run(self._section, key, name)
        headers = {
            "content-type": _BINARY,
            "x-debuginfod-size": str(body.size),
            **unsure_header(unsure),
        }
        return body_response(request, self._service, body, tag, headers)

    async def source(self, entry: Entry | None, path: str) -> Response:
        """A source file of a module.

        Raises:
            HttpError: The module does not refer to it, or the server does not have
                it.
        """
        if entry is None or not self._has_source:
            raise HttpError(404)
        text = await self._service.run(self._source, entry, path)
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

    def _files(self, key: ModuleKey, kind: str) -> Generator[_Binary]:
        """The binaries of a module, perhaps: stored, in folders, packages, fetched."""
        resolver = self._service.symbolizer.resolver
        found = resolver.binaries(
            key, kind or "image", fetches=self._fetches, keeps=False
        )
        for each in found:
            read = self._confined.facts if each.is_copy else facts_of
            yield _Binary(each.path, read, os.path.basename(each.location))

    def _open(
        self, key: ModuleKey, kind: str, magics: tuple[bytes, ...]
    ) -> _OpenBinary:
        """The first file of a module that is of a kind and starts so."""
        with closing(self._files(key, kind)) as files, _one_module():
            for each in files:
                with suppress(GsymError, OSError):
                    facts, unsure = each.facts(key)
                    if kind and kind not in facts.kinds:
                        continue
                    file = FileIO(each.path)
                    if file.read(_LONGEST_MAGIC).startswith(magics):
                        return _OpenBinary(file, each.name, unsure)
                    file.close()
        raise not_found(f"the server has no {kind or 'such file'} of the module")

    def _section(self, key: ModuleKey, name: str) -> tuple[FileBody, str, str]:
        for kind in KINDS:
            with closing(self._files(key, kind)) as files, _one_module():
                for each in files:
                    found = _section_of(each, key, kind, name)
                    if found is not None:
                        return found
        raise not_found(f"the module has no section {name}")

    def _source(self, entry: Entry, path: str) -> bytes:
        most = self._service.settings.limits.max_source
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

        def matches(path: str, build_id: str) -> bool:
            if key == "buildid":
                return build_id == value.lower()
            return pattern.fullmatch(path) is not None

        wanted = (each for each in self._named() if matches(each.name, each.build_id))
        results = [
            {"buildid": each.build_id, "type": kind, "file": shown(each.name)}
            for each in islice(wanted, _MOST_FILES)
            for kind in each.kinds()
        ]
        return {"results": results, "complete": next(wanted, None) is None}

    def _named(self) -> Generator[_Named]:
        """The binaries in folders and packages."""
        for folder in self._service.symbolizer.resolver.loose_folders:
            for path, build_id in folder.build_ids():
                kinds = partial(_kinds, path, build_id)
                yield _Named(folder.name_of(path), build_id, kinds)
            for member in folder.packages.all() if folder.packages else ():
                kinds = partial(tuple, member.kinds)
                yield _Named(member.name, member.build_id, kinds)


class _Binary:
    """A file with the build id of a module, perhaps."""

    def __init__(
        self, path: str, read: Callable[[str, str], BinaryFacts], name: str = ""
    ) -> None:
        self.path = path
        self.name = name
        self._read = read

    def facts(self, key: ModuleKey, section: str = "") -> tuple[BinaryFacts, str]:
        """Kind of the file, and why it may be of another build than *key*, or "".

        Raises:
            GsymError: It is damaged, or of another build.
        """
        found = self._read(self.path, section)
        results = (compare(key, each) for each in found.modules)
        compared = {each.outcome: each for each in results}
        for outcome in (SAME, PART):
            if outcome in compared:
                return found, compared[outcome].reason
        raise UuidMismatchError("is of another build", path=self.path)


class _OpenBinary(NamedTuple):
    """A file to send: open, its name, and why it may be of another build."""

    file: FileIO
    name: str
    unsure: str


@contextmanager
def _one_module() -> Iterator[None]:
    """Answer that there is no file where it is not known which one is right."""
    try:
        yield
    except AmbiguousModuleError:
        raise not_found(SEVERAL) from None


def unsure_header(unsure: str) -> dict[str, str]:
    """The header with the reason why a file may be of another build."""
    return {UNSURE: unsure.encode("ascii", "replace").decode()} if unsure else {}


class _Named(NamedTuple):
    """A binary in a folder or a package: name, build id, what returns its kinds."""

    name: str
    build_id: str
    kinds: Callable[[], tuple[str, ...]]


def _plain(path: str) -> str:
    """A path without "." and "..", with single slashes."""
    return normpath("/" + path.lstrip("/")) if path.startswith("/") else normpath(path)


def _section_of(
    binary: _Binary, key: ModuleKey, kind: str, name: str
) -> tuple[FileBody, str, str] | None:
    """A section of a binary of a kind, its entity tag, and why it may be of another."""
    try:
        facts, unsure = binary.facts(key, name)
        start, end = facts.part
        if kind not in facts.kinds or start >= end:
            return None
        # Read, not mapped: the file may be truncated while it is sent.
        file = FileIO(binary.path)
    except (GsymError, OSError):
        return None
    # A section may have any name.
    tag = f"{os.fstat(file.fileno()).st_mtime_ns:x}-{quote(name)}"
    return FileBody(file, (start, end)), tag, unsure


def _kinds(path: str, build_id: str) -> tuple[str, ...]:
    try:
        return _Binary(path, facts_of).facts(ModuleKey(code_id=build_id))[0].kinds
    except (GsymError, OSError):
        return ()


def not_found(reason: str) -> HttpError:
    """The error for a missing file."""
    return HttpError(404, f"404 Not Found: {reason}")
