"""Lookups and dumps in the format of llvm-gsymutil.

All lookups follow LLVM's rules (docs/differences.md lists where `Reader.lookup`
differs).
"""

from __future__ import annotations

from gsym.engine.native import check, ffi, lib, new_error
from gsym.engine.text_buffer import TextBuffer
from gsym.formatting.formatter import Style, command_template

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from gsym.reading.reader import Reader

_BLOCK_SIZE = 1 << 20


def lookup_style(*, merged: bool, blank_line: bool = False) -> Style:
    """The style of a LookupResult."""
    template = command_template(lib.GSYM_STYLE_GSYMUTIL, merged * lib.GSYM_STYLE_MERGED)
    end = "\n" if blank_line else ""
    return Style(f"{template}{end}", merged=merged, llvm_rules=True)


class LlvmText:
    r"""Makes dumps of one open reader; for one thread at a time.

    Everything returned is bytes, since names and paths may be of any encoding.
    """

    def __init__(self, reader: Reader, *, escape: bool = False) -> None:
        self._image = reader.mapped.image
        self._error = new_error()
        self._text = TextBuffer(escape=escape)
        self._record: Any = None

    def merged_names(self, address: int) -> list[bytes]:
        """Names of the function at *address* and of those folded into it."""
        names: list[bytes] = []
        answer = ffi.new("gsym_answer *")
        size = ffi.new("size_t *")
        while self._find(address, len(names), answer):
            name = lib.gsym_image_string(self._image, answer.function_name, size)
            names.append(ffi.buffer(name, size[0])[:])
            if len(names) == 1:
                count = answer.merged_count
            if len(names) > count:
                break
        return names

    def function(self, address: int) -> bytes | None:
        """The record of the function at *address* as text.

        None if the lookup fails; b"" if only the record cannot be read by LLVM.
        """
        answer = ffi.new("gsym_answer *")
        if not self._find(address, 0, answer):
            return None
        self._append(lib.gsym_text_dump_entry, self._decoder(), answer.entry)
        return self._text.take()

    def dump(self) -> Iterator[bytes]:
        """A dump of the file as text, in blocks of about a megabyte."""
        place = ffi.new("gsym_dump_position *")
        while place.part != lib.GSYM_DUMP_DONE:
            self._append(lib.gsym_text_dump, self._decoder(), place, _BLOCK_SIZE)
            yield self._text.take()

    def _find(self, address: int, child: int, answer: Any) -> bool:
        """Look up without frames; False without an answer."""
        asked = self._image, address, child, lib.GSYM_LOOKUP_LLVM, ffi.NULL
        status = lib.gsym_image_lookup(*asked, answer, self._error)
        return status == lib.GSYM_OK and bool(answer.found)

    def _decoder(self) -> Any:
        if self._record is None:
            place = ffi.new("gsym_record **")
            check(lib.gsym_record_create(place, self._error), self._error)
            self._record = ffi.gc(place[0], lib.gsym_record_destroy)
        return self._record

    def _append(self, function: Any, *arguments: Any) -> None:
        """Call *function* of the engine to append to the text."""
        status = function(self._text.handle, self._image, *arguments, self._error)
        check(status, self._error)
