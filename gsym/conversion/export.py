"""Write the functions of a GSYM file as a Breakpad symbol file (.sym).

The engine formats the records; this module makes the MODULE and INFO records and writes
the text. docs/cli.md lists what a `.sym` file cannot contain.
"""

from __future__ import annotations

import os
import time
from itertools import chain
from operator import attrgetter

import gsym.reading.reader
from gsym.arguments import path_of, refusal
from gsym.engine.native import check, ffi, lib, new_error, new_object
from gsym.errors import GsymError, UuidMismatchError
from gsym.modules.key import (
    ModuleKey,
    compare,
    completed,
    is_windows,
    uuid_code_id,
    uuid_debug_id,
)
from gsym.records import NamedTuple
from gsym.writing.atomic_file import AtomicFile, is_same_file

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from typing import Any

    from gsym.reading.reader import Reader
    from gsym.unwinding.stack_records import StackRecords


class ExportReport(NamedTuple):
    """The result of an export, and what the output lacks.

    Attributes:
        output: Path that was written.
        identity: The module as named in the output.
        functions: FUNC records.
        public_symbols: PUBLIC records: functions without a size.
        lines: Line records.
        inlined_calls: INLINE records.
        files: FILE records.
        inline_origins: INLINE_ORIGIN records: names of inlined functions.
        stack_records: STACK records: how to find the caller of a frame.
        losses: Kind of omission or change -> number.
        file_size: Size of the output in bytes.
        seconds: Wall time.
    """

    output: str
    identity: ModuleKey
    functions: int
    public_symbols: int
    lines: int
    inlined_calls: int
    files: int
    inline_origins: int
    stack_records: int
    losses: dict[str, int]
    file_size: int
    seconds: float


_BLOCK_SIZE = 1 << 20
_COUNTS = (
    *("functions", "public_symbols", "lines"),
    *("inlined_calls", "files", "inline_origins"),
)
_LOSSES = {
    "losses.damaged": "Function left out: its record is damaged",
    "losses.functions_cut": "Function cut: another one covers a part of it",
    "losses.functions_left_out": "Function left out: another one covers all of it",
    "losses.merged_left_out": (
        "Function left out: merged into another one, marked with m"
    ),
    "details_left_out": "Lines and inlined calls left out: the function has no size",
    "inlined_calls_left_out": (
        "Inlined call left out: it is not inside its caller or overlaps another"
    ),
    "call_sites_left_out": "Call site left out",
    "unknown_left_out": "InfoType without a known meaning left out",
    "names_changed": "Name changed: blank, of several lines or not UTF-8",
}
_RULES_LEFT_OUT = "Unwind rule left out: it is an expression of DWARF"
# Required fields of the MODULE record.
_NEEDED = ("os", "architecture", "debug_id", "debug_file")


class IdentityError(GsymError):
    """Fields of the module's identity must be given."""

    def __init__(self, missing: tuple[str, ...], path: str | None) -> None:
        words = " and ".join(name.replace("_", " ") for name in missing)
        super().__init__(
            f"the {words} of the module must be given: the file does not name it",
            path=path,
        )
        self.missing = missing  # fields of `ModuleKey`


def export_breakpad(
    source: str | os.PathLike[str] | Reader,
    output: str | os.PathLike[str],
    *,
    identity: ModuleKey | None = None,
    binary: str | os.PathLike[str] | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> ExportReport:
    """Write a Breakpad symbol file that answers as the GSYM file does.

    Its addresses are relative to the base address of the GSYM file. The output is
    complete or absent.

    Args:
        source: The GSYM file, or a reader that has it open.
        output: File to write.
        identity: The module's names and ids, as `gsym.identify` has them of a binary.
            What is "" is what *source* itself says; if it says nothing, the name is
            that of the file without `.gsym`, and ids are made of the UUID.
        binary: The binary of the GSYM file. Its unwind information becomes STACK
            records, which a GSYM file does not contain.
        progress: Called now and then with (work done, work in all).

    Raises:
        FormatError: *source* is not a GSYM file, or its tables are damaged. A damaged
            record costs its function, and is counted.
        GsymError: The module's OS, architecture, debug id or name is not known.
        OSError: A file cannot be opened or written.
        ValueError: *output* is *source*, or a part of *identity* is not one word.
    """
    target = path_of("output", output)
    if identity is not None and not isinstance(identity, ModuleKey):
        raise refusal("identity", "a ModuleKey, as gsym.identify makes it", identity)
    if not isinstance(source, gsym.reading.reader.Reader):
        path = path_of("source", source, " or a Reader")
        with gsym.reading.reader.open(path) as reader:
            return export_breakpad(
                reader, output, identity=identity, binary=binary, progress=progress
            )
    started = time.perf_counter()
    if source.path is not None and is_same_file(target, source.path):
        raise ValueError(f"{target}: the output would replace the input")
    named = complete_identity(identity or ModuleKey(), source)
    export = _Export(source)
    stack = _stack_records(source, [path_of("binary", binary)] if binary else [])
    size = 0
    with AtomicFile(target) as file:
        for block in chain(export.blocks(_head(named), progress), stack.blocks()):
            file.write(block)
            size += len(block)
    losses = export.losses()
    if stack.left_out:
        losses[_RULES_LEFT_OUT] = stack.left_out
    return ExportReport(
        output=target,
        identity=named,
        **export.counts(),
        stack_records=stack.count,
        losses=losses,
        file_size=size,
        seconds=time.perf_counter() - started,
    )


def breakpad_blocks(
    reader: Reader, identity: ModuleKey, binaries: Iterable[str]
) -> Iterator[bytes]:
    """Yield the text in blocks of at most a megabyte, made as they are asked for.

    The STACK records are those of the first of *binaries* that has some. The reader
    stays open until the last block.
    """
    head = _head(complete_identity(identity, reader))
    stack = _stack_records(reader, binaries)
    return chain(map(bytes, _Export(reader).blocks(head, None)), stack.blocks())


def _stack_records(reader: Reader, binaries: Iterable[str]) -> StackRecords:
    from gsym.unwinding.stack_records import StackRecords

    return StackRecords(binaries, reader.header.base_address, reader.header.uuid)


def complete_identity(identity: ModuleKey, reader: Reader) -> ModuleKey:
    """*identity*, completed from the GSYM file.

    Where the file does not name its module, the ids are made of its UUID by the rules
    of the OS, and the name is that of the file without `.gsym`.

    Raises:
        GsymError: Something is still missing, or *identity* is that of another module.
        ValueError: The OS, the architecture or an id is not one word.
    """
    words = identity.os, identity.architecture, identity.debug_id, identity.code_id
    for word in words:
        if word and word.split() != [word]:
            raise ValueError(f"'{word}' is not one word")
    header, module = reader.header, reader.module
    name = os.path.basename(reader.path or "").removesuffix(".gsym")
    if module is not None:
        comparison = compare(identity, module)
        if comparison.is_refused:
            raise UuidMismatchError(comparison.reason, path=reader.path)
        identity = completed(identity, module)
    debug_id = uuid_debug_id(header.uuid, identity.os, header.byteorder)
    if is_windows(identity.os):
        debug_id = ""  # the age is missing
    found = identity._replace(
        debug_id=identity.debug_id or debug_id, debug_file=identity.debug_file or name
    )
    if not found.code_id and found.debug_id == debug_id:
        found = found._replace(code_id=uuid_code_id(header.uuid, identity.os))
    missing = tuple(field for field in _NEEDED if not getattr(found, field))
    if missing:
        raise IdentityError(missing, reader.path)
    return found


def _head(identity: ModuleKey) -> bytes:
    """The records MODULE and INFO."""
    module = (
        *(identity.os, identity.architecture, identity.debug_id),
        identity.debug_file,
    )
    lines = [" ".join(("MODULE", *module))]
    if identity.code_id:
        code = (identity.code_id, identity.code_file)
        lines.append(" ".join(("INFO CODE_ID", *code)).rstrip())
    # Each is one line of UTF-8, as the engine does it with names.
    single = (line.replace("\r", "?").replace("\n", "?") + "\n" for line in lines)
    return "".join(single).encode("utf-8", "replace")


class _Export:
    """The engine's handles for one export."""

    def __init__(self, reader: Reader) -> None:
        self._error: Any = new_error()
        self._path = reader.path
        self._image = reader.mapped.image
        self._total = 2 * len(reader)
        self._counts: Any = ffi.new("gsym_breakpad_export_counts *")
        self._text = new_object("text", lib.gsym_text_create, lib.gsym_text_destroy)
        self._handle = new_object(
            "breakpad_export",
            lib.gsym_breakpad_export_create,
            lib.gsym_breakpad_export_destroy,
            self._image,
            path=reader.path,
        )

    def blocks(
        self, head: bytes, progress: Callable[[int, int], None] | None
    ) -> Iterator[memoryview | bytes]:
        """The text in blocks of about a megabyte, each good until the next."""
        is_done, size = ffi.new("uint32_t *"), ffi.new("size_t *")
        yield head
        while not is_done[0]:
            status = lib.gsym_breakpad_export_next(
                self._handle, self._text, _BLOCK_SIZE, is_done, self._error
            )
            check(status, self._error, self._path)
            lib.gsym_breakpad_export_count(self._handle, self._counts)
            if progress is not None:
                progress(self._counts.visited, self._total)
            start = lib.gsym_text_bytes(self._text, size)
            if size[0]:
                yield memoryview(ffi.buffer(start, size[0]))
            lib.gsym_text_clear(self._text)

    def counts(self) -> dict[str, int]:
        return {name: getattr(self._counts, name) for name in _COUNTS}

    def losses(self) -> dict[str, int]:
        counted = {
            text: attrgetter(name)(self._counts) for name, text in _LOSSES.items()
        }
        return {text: count for text, count in counted.items() if count}
