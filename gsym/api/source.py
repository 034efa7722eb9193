"""Source files of frames: of their modules, then of folders that may be read."""

from __future__ import annotations

import os
import stat

import msgspec

from gsym.api.request import (
    DebugId,
    Number,
    RequestError,
    decode_request,
    read_number,
)
from gsym.errors import FormatError
from gsym.modules.key import key_of_debug_id
from gsym.modules.source_files import sources_of_module
from gsym.reports.source_links import SourceLinks

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from gsym.modules.symbolizer import Symbolizer
    from gsym.writing.source_part import SourceFiles


_LONGEST = 256  # characters of a path in an error


class SourceRoots:
    """Reads source files in allowed folders.

    Args:
        roots: `DIR`: paths in this folder. `OLD=DIR`: paths with the prefix OLD, which
            is replaced by DIR.
    """

    def __init__(self, roots: Iterable[str]) -> None:
        self._rules: list[tuple[str, str]] = []
        for root in roots:
            old, equals, folder = root.rpartition("=")
            self._rules.append((old if equals else "", os.path.realpath(folder)))

    def read(self, path: str, most: int) -> bytes | None:
        """The contents of a source file; None if it is in none of the folders.

        Symbolic links are followed; their targets must be in the folder. One byte more
        than *most* is read.
        """
        for _, candidate, root in self._candidates(path):
            real = os.path.realpath(candidate)
            if _is_inside(real, root) and os.path.exists(real):
                return _read(real, root, most)
        return None

    def where(self, path: str) -> str:
        """The paths below the folders at which a file is looked for, in words."""
        tried = [f"'{shown[:_LONGEST]}'" for shown, _, _ in self._candidates(path)]
        if not tried:
            return "no source folder has its prefix"
        return f"tried {', '.join(tried)} in source folders"

    def _candidates(self, path: str) -> Iterable[tuple[str, str, str]]:
        """A path as it is shown, in full, and the folder in which it has to be."""
        if "\0" in path:
            return
        for old, root in self._rules:
            if not old:
                if os.path.isabs(path):
                    yield path, path, root
            elif path.startswith(old):
                rest = path[len(old) :].replace("\\", "/").lstrip("/")
                yield rest, os.path.join(root, rest), root


def _is_inside(path: str, root: str) -> bool:
    return path.startswith(root.rstrip(os.sep) + os.sep)


def _read(path: str, root: str, most: int) -> bytes | None:
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    with open(os.open(path, flags), "rb") as file:
        descriptor = file.fileno()
        # A parent folder may have been replaced by a link meanwhile.
        now = os.path.realpath(f"/proc/self/fd/{descriptor}")
        if now.startswith("/proc/"):
            now = path  # no /proc is mounted
        is_file = stat.S_ISREG(os.fstat(descriptor).st_mode)
        return file.read(most + 1) if is_file and _is_inside(now, root) else None


_NOT_FOUND = 404
_TOO_LARGE = 413


class SourceRequest(msgspec.Struct, rename="camel", frozen=True):
    """A source file, and an address whose frames name it."""

    debug_name: str  # of the module
    debug_id: DebugId  # of the module
    module_offset: Number  # from the base of the module, as text with `0x`
    file: str  # its path in the response of `/symbolicate/v5` for that address


class SourceAnswer(msgspec.Struct, rename="camel"):
    """The body of a response."""

    symbols_last_modified: None  # unknown
    source_last_modified: None  # unknown
    file: str  # as in the request
    source: str  # the text


def read_source_request(body: bytes) -> SourceRequest:
    """The request in a body."""
    request = decode_request(body, SourceRequest)
    read_number(request.module_offset, "moduleOffset")
    return request


def answer_source(
    request: SourceRequest,
    symbolizer: Symbolizer,
    roots: SourceRoots,
    *,
    path_map: Callable[[str], str] | None = None,
    most: int,
) -> bytes:
    """The body of a response; opening the module may take long.

    Raises:
        RequestError: No such file has code at that address.
    """
    paths, sources = _files(request, symbolizer)
    for path in paths:
        if request.file == (path_map(path) if path_map else path):
            try:
                text = sources.text(path) or roots.read(path, most)
            except (OSError, FormatError):
                text = None
            if text is None:
                reason = f"no source file '{request.file[:_LONGEST]}': "
                reason += roots.where(path)
                if link := SourceLinks(sources.links).of(path):
                    reason += f"; the debug information names {link[:_LONGEST]}"
                raise RequestError(reason, _NOT_FOUND)
            if len(text) > most:
                reason = f"the file has more than {most} bytes"
                raise RequestError(reason, _TOO_LARGE)
            source = text.decode("utf-8", "replace")
            return msgspec.json.encode(SourceAnswer(None, None, request.file, source))
    reason = f"no frame at this address is in the file '{request.file[:_LONGEST]}'"
    raise RequestError(reason, _NOT_FOUND)


def _files(
    request: SourceRequest, symbolizer: Symbolizer
) -> tuple[list[str], SourceFiles]:
    """The paths of all frames at the address, and the files that the module has."""
    try:
        key = key_of_debug_id(request.debug_name, request.debug_id)
    except ValueError:
        raise RequestError(f"invalid debug id '{request.debug_id[:80]}'") from None
    offset = read_number(request.module_offset, "moduleOffset")
    try:
        found = symbolizer.symbolize(key, offset=offset)
    except FormatError as error:
        raise RequestError(f"damaged symbols: {error.reason}", _NOT_FOUND) from None
    if found.lookup is None:
        raise RequestError("no symbols for this address", _NOT_FOUND)
    paths = [frame.path for frame in found.lookup.frames if frame.path]
    return paths, sources_of_module(found.module.reader)
