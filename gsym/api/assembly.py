"""`/asm/v1` of samply's API: the code at an address, disassembled."""

from __future__ import annotations

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
from gsym.engine.demangling import demangle
from gsym.errors import FormatError, GsymError, UnsupportedError
from gsym.model import UINT64_END
from gsym.modules.key import ModuleKey, completed, has_id, read_debug_id
from gsym.modules.places import find_files, known_files

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Sequence

    from gsym.containers.object_file import ObjectFile
    from gsym.modules.places import Place
    from gsym.modules.symbolizer import Symbolizer
    from gsym.reading.reader import Reader
    from gsym.store.entries import Entry


_NOT_FOUND = 404
_TOO_LARGE = 413
_LONGEST_INSTRUCTION = 15  # bytes, of any architecture


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
    try:
        key = request.key
    except ValueError as error:
        raise RequestError(str(error)) from None
    if not key.debug_id and not key.code_id:
        raise RequestError("name the module by its debugId or codeId")
    return request


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
        found = self._find([offset])
        start, size, _ = found.get(offset, (offset, 0, ""))
        return start + size

    def describe(self, offsets: Iterable[int]) -> dict[int, str]:
        """`<name>` or `<name+0x1f>` for each offset that is in a function."""
        return {
            offset: f"<{demangle(name)}>"
            if offset == start
            else f"<{demangle(name)}+{offset - start:#x}>"
            for offset, (start, _, name) in self._find(offsets).items()
        }

    def _find(self, offsets: Iterable[int]) -> dict[int, tuple[int, int, str]]:
        """Start, size and name of the function at each offset."""
        found: dict[int, tuple[int, int, str]] = {}
        for offset in offsets:
            address = self._base + offset
            if self._reader is None or not 0 <= address < UINT64_END:
                continue
            try:
                lookup = self._reader.lookup(address)
            except FormatError:
                continue
            if lookup is not None:
                function = lookup.function
                start = function.start - self._base
                found[offset] = start, function.size, function.name
        return found


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
    described = names.describe(sorted(targets))
    texts = [
        (each.offset, f"{each.text} {described[each.target]}")
        if each.target in described
        else (each.offset, each.text)
        for each in instructions
    ]
    return AssemblyAnswer(hex(start), hex(end), reader.name, [reader.syntax], texts)
