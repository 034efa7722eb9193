"""Convert a Breakpad symbol file.

Python reads the text in blocks; the engine parses them. Neither holds more of it than
some batches of functions, so memory follows the size of the output.
"""

from __future__ import annotations

import os

from gsym._native import check, ffi, lib, new_error, to_bytes
from gsym.breakpad_batches import EncodingAhead, EncodingAtOnce
from gsym.conversion_output import ConversionOutput
from gsym.conversion_report import ConversionWarning
from gsym.errors import ArchitectureError, EmptyError
from gsym.sources.breakpad import read_module
from gsym.workers import core_count

__all__ = ["convert_breakpad"]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from io import FileIO
    from typing import Any

    from gsym.conversion_output import ConversionRequest
    from gsym.conversion_report import ConversionReport

# By gsym_breakpad_fault.
_CATEGORIES = {
    lib.GSYM_BREAKPAD_UNKNOWN_RECORD: "Not a record",
    lib.GSYM_BREAKPAD_LONG_LINE: "Line too long",
    lib.GSYM_BREAKPAD_NUMBER: "Number missing, damaged or too large",
    lib.GSYM_BREAKPAD_MODULE: "MODULE incomplete or repeated",
    lib.GSYM_BREAKPAD_RANGE: "FUNC without bytes or with an impossible range",
    lib.GSYM_BREAKPAD_NO_FUNCTION: "Line record or INLINE without FUNC",
    lib.GSYM_BREAKPAD_NAME: "Name missing or cut",
    lib.GSYM_BREAKPAD_OUTSIDE: "Line record or INLINE reaches out of its FUNC",
    lib.GSYM_BREAKPAD_OVERLAP: "Line records or INLINEs overlap",
    lib.GSYM_BREAKPAD_UNCOVERED: "INLINE reaches out of the level above",
    lib.GSYM_BREAKPAD_NO_FILE: "Number without FILE",
    lib.GSYM_BREAKPAD_NO_ORIGIN: "Number without INLINE_ORIGIN",
    lib.GSYM_BREAKPAD_REDEFINED: "FILE or INLINE_ORIGIN number used twice",
    lib.GSYM_BREAKPAD_LIMIT: "Limit reached, inlined calls of a function are left out",
}
_NO_MODULE = "No MODULE record"

_BLOCK_SIZE = 256 << 10
_BLOCKS_PER_PROGRESS = 64
_LEAST_FOR_THREAD = 4 << 20  # bytes of text


def convert_breakpad(request: ConversionRequest) -> ConversionReport:
    """Carry *request* out; `gsym.convert` tells what it raises."""
    output = ConversionOutput(request, big_endian=False, base_address=0)
    text = _Text(output, request)
    text.read()
    text.require_functions()
    if request.merged_functions:
        output.merge_functions()
    text.add_publics()
    module = read_module(text.head())
    if request.architecture not in {None, module.architecture}:
        raise ArchitectureError(
            f"is for {module.architecture or 'an unknown architecture'}, not for "
            f"{request.architecture}",
            path=request.input,
        )
    output.set_uuid(module.build_id)
    warnings = text.warnings()
    if not module.os:
        warnings[_NO_MODULE] = 1
    return output.write(
        architecture=module.architecture,
        build_id=module.build_id,
        warnings=warnings,
        details=text.details(),
    )


class _Text:
    """The engine's reader and the file that it is fed from."""

    def __init__(self, output: ConversionOutput, request: ConversionRequest) -> None:
        self._request = request
        self._creator = output.creator  # outlives the reader
        self._error: Any = new_error()
        made = ffi.new("gsym_breakpad **")
        self._check(
            lib.gsym_breakpad_create(
                self._creator, request.keep_warnings, made, self._error
            )
        )
        self._handle: Any = ffi.gc(made[0], lib.gsym_breakpad_destroy)
        for rule in request.path_map:
            old, new = map(to_bytes, rule)
            self._call(lib.gsym_breakpad_add_path_map, old, len(old), new, len(new))

    def read(self) -> None:
        """Read the whole file; afterwards the creator has its functions."""
        with open(self._request.input, "rb", buffering=0) as file:
            total = os.fstat(file.fileno()).st_size
            encoding = self._start_encoding(total)
            try:
                self._feed(file, total, encoding)
                self._call(lib.gsym_breakpad_finish)
                self._hand_over(encoding)
                encoding.finish()
            finally:
                encoding.stop()

    def _start_encoding(self, size: int) -> EncodingAtOnce | EncodingAhead:
        threads = self._request.threads or core_count()
        is_ahead = threads > 1 and size >= _LEAST_FOR_THREAD
        return (EncodingAhead if is_ahead else EncodingAtOnce)(self._check, self._keep)

    def _feed(
        self, file: FileIO, total: int, encoding: EncodingAtOnce | EncodingAhead
    ) -> None:
        progress = self._request.progress
        block = bytearray(_BLOCK_SIZE)
        target = ffi.from_buffer("uint8_t[]", block)
        done = blocks = 0
        while size := file.readinto(block):
            self._call(lib.gsym_breakpad_feed, target, size)
            self._hand_over(encoding)
            done += size
            blocks += 1
            if progress is not None and blocks % _BLOCKS_PER_PROGRESS == 0:
                progress(done, max(done, total))

    def _hand_over(self, encoding: EncodingAtOnce | EncodingAhead) -> None:
        """Let the functions that are read be encoded, if they are many."""
        batch = ffi.new("gsym_breakpad_batch **")
        while True:
            self._call(lib.gsym_breakpad_next_batch, batch)
            if not batch[0]:
                return
            encoding.put(batch[0])

    def _keep(self, batch: Any) -> None:
        self._call(lib.gsym_breakpad_keep_batch, batch)

    def require_functions(self) -> None:
        """See to it that there is something to write.

        Raises:
            EmptyError: No record names a function.
        """
        counts = ffi.new("gsym_breakpad_counts *")
        lib.gsym_breakpad_count(self._handle, counts)
        if not counts.functions and not counts.publics:
            raise EmptyError(
                f"it has no FUNC or PUBLIC record; {counts.stack_records} STACK "
                f"records, {counts.bad_records} damaged",
                path=self._request.input,
            )

    def add_publics(self) -> None:
        self._call(lib.gsym_breakpad_add_publics)

    def head(self) -> Iterator[bytes]:
        """The MODULE record and the INFO records."""
        size = ffi.new("size_t *")
        index = 0
        while (text := lib.gsym_breakpad_head(self._handle, index, size)) != ffi.NULL:
            yield bytes(ffi.buffer(text, size[0]))
            index += 1

    def warnings(self) -> dict[str, int]:
        counts = {}
        for fault, category in _CATEGORIES.items():
            count = lib.gsym_breakpad_fault_count(self._handle, fault)
            if count:
                counts[category] = count
        return counts

    def details(self) -> tuple[ConversionWarning, ...]:
        count = ffi.new("size_t *")
        found = lib.gsym_breakpad_findings(self._handle, count)
        return tuple(
            ConversionWarning(
                _CATEGORIES[item.fault], item.offset, item.value, item.line
            )
            for item in (found[i] for i in range(count[0]))
        )

    def _call(self, function: Any, *arguments: Any) -> None:
        self._check(function(self._handle, *arguments, self._error))

    def _check(self, status: int, error: Any = None) -> None:
        check(status, self._error if error is None else error, self._request.input)
