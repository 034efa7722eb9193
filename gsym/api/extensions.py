"""Extensions of samply's API: `/source/v1`, source files, and `/asm/v1`, disassembly.

Source files are those of their modules, then those of folders that may be read.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import closing, suppress
from itertools import chain

import msgspec

from gsym.api.request import (
    DebugId,
    Number,
    RequestError,
    decode_request,
    read_number,
)
from gsym.containers.data_symbols import is_thumb_at
from gsym.containers.disassembly import disassembler_for
from gsym.containers.fat import open_slice
from gsym.containers.object_file import ObjectFile
from gsym.engine.demangling import demangle
from gsym.errors import FormatError, GsymError, UnsupportedError
from gsym.model import UINT64_END, FunctionRange
from gsym.modules.key import (
    ModuleKey,
    completed,
    has_id,
    key_of_debug_id,
    read_debug_id,
)
from gsym.modules.places import find_files, known_files
from gsym.modules.source_files import sources_of_module
from gsym.modules.symbolizer import Symbolizer
from gsym.reading.reader import Reader
from gsym.reports.source_links import SourceLinks
from gsym.store.entries import Entry
from gsym.writing.source_part import SourceFiles

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from gsym.modules.places import Place


_LONGEST = 256  # characters of a path in an error
_LONGEST_INSTRUCTION = 15  # bytes, of any architecture
_NOT_FOUND = 404
_TOO_LARGE = 413


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


class SourceRequest(msgspec.Struct, rename="camel", frozen=True):
    """A source file, and an address whose frames name it."""

    debug_name: str  # of the module
    debug_id: DebugId  # of the module
    module_offset: Number  # from the base of the module, as text with `0x`
    file: str  # its path in the response of `/symbolicate/v5` for that address

    @property
    def key(self) -> ModuleKey:
        """The module; `read_source_request` has checked its id."""
        return key_of_debug_id(self.debug_name, self.debug_id)


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
    _checked_key(request)
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
    offset = read_number(request.module_offset, "moduleOffset")
    try:
        found = symbolizer.symbolize(request.key, offset=offset)
    except FormatError as error:
        raise RequestError(f"damaged symbols: {error.reason}", _NOT_FOUND) from None
    if found.lookup is None:
        raise RequestError("no symbols for this address", _NOT_FOUND)
    paths = [frame.path for frame in found.lookup.frames if frame.path]
    return paths, sources_of_module(found.module.reader)


class AssemblyRequest(msgspec.Struct, rename="camel", frozen=True):
    """A range of code."""

    start_address: Number  # from the base of the module, as text with `0x`
    size: Number  # in bytes, as text with `0x`
    name: str | None = None  # of the binary
    code_id: str | None = None  # of the binary
    debug_name: str | None = None  # of the module
    debug_id: DebugId | None = None  # of the module
    # whether to continue to the end of the function in which the range begins
    continue_until_function_end: bool = False

    @property
    def key(self) -> ModuleKey:
        """The module; `read_assembly_request` has checked its id."""
        debug_id = read_debug_id(self.debug_id).upper() if self.debug_id else ""
        code_id = (self.code_id or "").upper()
        return ModuleKey(self.debug_name or "", debug_id, self.name or "", code_id)


class AssemblyAnswer(msgspec.Struct, rename="camel"):
    """The body of a response."""

    start_address: Number  # of the first instruction, as text with `0x`
    size: Number  # of all instructions in bytes, as text with `0x`
    arch: str  # the architecture
    syntax: list[str]  # of the texts
    instructions: list[tuple[int, str]]  # offset from the start and text of each


def read_assembly_request(body: bytes) -> AssemblyRequest:
    """The request in a body."""
    request = decode_request(body, AssemblyRequest)
    read_number(request.start_address, "startAddress")
    read_number(request.size, "size")
    key = _checked_key(request)
    if not key.debug_id and not key.code_id:
        raise RequestError("name the module by its debugId or codeId")
    return request


def _checked_key(request: SourceRequest | AssemblyRequest) -> ModuleKey:
    try:
        return request.key
    except ValueError as error:
        raise RequestError(str(error)) from None


def answer_assembly(
    request: AssemblyRequest,
    symbolizer: Symbolizer,
    folders: Sequence[Place],
    *,
    most: int,
) -> bytes:
    """The body of a response; opening the module may take long.

    Raises:
        RequestError: The module has no such code, or more than one answer may have.
        UnsupportedError: The disassembler is not installed.
    """
    start = read_number(request.start_address, "startAddress")
    size = read_number(request.size, "size")
    if size > most:
        raise RequestError(f"please limit the size to <= {most:#x} bytes", _TOO_LARGE)
    key = request.key
    module = symbolizer.open(key)
    names = _Names(module.reader)
    if request.continue_until_function_end:
        size = min(max(size, names.end_of(start) - start), most)
    is_there = False
    with closing(open_binaries(key, module.entry, symbolizer, folders)) as found:
        for binary in found:
            is_there = True
            answer = _disassembled(binary, start, size, names)
            if answer is not None:
                return msgspec.json.encode(answer)
    reason = (
        "The requested address was not found in any section in the binary."
        if is_there
        else "no binary of this module found"
    )
    raise RequestError(reason, _NOT_FOUND)


def open_binaries(
    key: ModuleKey,
    entry: Entry | None,
    symbolizer: Symbolizer,
    folders: Sequence[Place] = (),
) -> Generator[ObjectFile]:
    """The binaries of a module, by the ids of its *entry* as well.

    Those that the symbolizer has without fetching them come first, then those in
    folders. Each is closed after its turn.
    """
    whole = (key if entry is None else completed(key, entry.identity))._replace(path="")
    # The code of what was stored or unpacked has been compared.
    kept = whole._replace(code_hash="")
    stages = chain(
        (
            ([known_files([each.path])], kept if each.is_copy else whole)
            for each in symbolizer.binaries(whole, fetches=False)
        ),
        ((folders, whole),),
    )
    for places, wanted in stages if has_id(whole) else ():
        for path, match in find_files(places, wanted):
            with (
                suppress(GsymError, OSError, ValueError),
                open_slice(path, match.architecture) as binary,
            ):
                yield binary


class _Names:
    """Functions by their offset from the base of the module."""

    def __init__(self, reader: Reader | None) -> None:
        self._reader = reader
        self._base = reader.header.base_address if reader is not None else 0

    def end_of(self, offset: int) -> int:
        """The end of the function at an offset; the offset itself without one."""
        function = self._at(offset)
        if function is None:
            return offset
        return function.start + function.size - self._base

    def describe(self, offset: int) -> str:
        """` <name>` or ` <name+0x1f>` for an offset in a function, else ""."""
        function = self._at(offset)
        if function is None:
            return ""
        plus = self._base + offset - function.start
        return f" <{demangle(function.name)}{f'+{plus:#x}' if plus else ''}>"

    def _at(self, offset: int) -> FunctionRange | None:
        """The function at an offset."""
        address = self._base + offset
        if self._reader is not None and 0 <= address < UINT64_END:
            with suppress(FormatError):
                lookup = self._reader.lookup(address)
                return lookup.function if lookup is not None else None
        return None


def _disassembled(
    binary: ObjectFile, start: int, size: int, names: _Names
) -> AssemblyAnswer | None:
    """The response; None if the binary has no code there."""
    address = (binary.base_address or 0) + start
    try:
        is_thumb = binary.architecture.startswith(("arm", "thumb")) and is_thumb_at(
            binary, address
        )
        reader = disassembler_for(
            binary.architecture, is_big_endian=binary.big_endian, is_thumb=is_thumb
        )
        start -= start % reader.alignment
        address -= address % reader.alignment
        code = bytes(binary.code_at(address, size + _LONGEST_INSTRUCTION))
    except FormatError as error:
        raise RequestError(error.reason, _NOT_FOUND) from None
    except UnsupportedError as error:
        raise RequestError(error.reason) from None
    if not code:
        return None
    instructions = list(reader.read(code, start, size))
    last = instructions[-1] if instructions else None
    end = last.offset + last.size if last else 0
    targets = {each.target for each in instructions if each.target is not None}
    described: dict[int | None, str] = {None: ""}
    described |= {each: names.describe(each) for each in targets}
    texts = [(each.offset, each.text + described[each.target]) for each in instructions]
    return AssemblyAnswer(hex(start), hex(end), reader.name, [reader.syntax], texts)
