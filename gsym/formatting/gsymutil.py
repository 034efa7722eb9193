"""Lookups and dumps as text, byte for byte as llvm-gsymutil prints them.

The engine finds and formats; here blocks of finished text come out. All lookups
follow LLVM's rules (docs/differences.md says where `Reader.lookup` betters them).
"""

from __future__ import annotations

from gsym.engine.native import check, ffi, lib, new_error
from gsym.engine.text_buffer import TextBuffer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    from typing_extensions import Buffer

    from gsym.reading.reader import Reader

_BLOCK_SIZE = 1 << 20
_UINT64 = "uint64_t[]"


class LlvmText:
    r"""Makes text from one open reader; for one thread at a time.

    Addresses are link-time virtual addresses. Everything returned is bytes, since
    names and paths may be of any encoding.

    Args:
        reader: Where to look.
        escape: Whether control characters in names and paths are written as `\xNN`.
    """

    def __init__(self, reader: Reader, *, escape: bool = False) -> None:
        self._image = reader.mapped.image
        self._error = new_error()
        self._text = TextBuffer(escape=escape)
        self._record: Any = None

    def lookup(
        self, addresses: list[int], *, merged: bool = False, blank_line: bool = False
    ) -> bytes:
        """The answers to *addresses*, an error line where there is none.

        Args:
            addresses: In the order of the answers.
            merged: Answer with all functions folded into one address.
            blank_line: Put an empty line behind each answer.
        """
        asked = ffi.new(_UINT64, addresses)
        flags = _flags(merged=merged, blank_line=blank_line)
        self._append(lib.gsym_text_lookup_many, asked, len(addresses), flags)
        return self._text.take()

    def lookup_lines(
        self,
        lines: Buffer,
        path: bytes,
        put: Callable[[Buffer], object],
        *,
        merged: bool = False,
    ) -> int:
        """Answer lines `ADDRESS PATH`, each with an empty line behind.

        Stops in front of a line with another path, of a line that holds no number
        and of one without a newline.

        Args:
            lines: As they came.
            path: That of the file.
            put: Takes the text, piece by piece; each is gone when it returns.
            merged: Answer with all functions folded into one address.

        Returns:
            How many bytes of *lines* were answered.
        """
        flags = _flags(merged=merged, blank_line=True)
        arguments = self._image, ffi.from_buffer(path), len(path), flags
        return self._text.answer(
            lib.gsym_text_lookup_lines, arguments, lines, None, put
        )

    def lookup_merged(self, address: int, keep: list[bool]) -> bytes:
        """All functions folded into *address*, but only those that *keep* says.

        Args:
            address: Where to look.
            keep: For each of `merged_names`, whether to show it.
        """
        chosen = ffi.new("uint8_t[]", [int(wanted) for wanted in keep])
        self._append(lib.gsym_text_lookup_merged, address, chosen, len(keep))
        return self._text.take()

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
        """All that is known of the function at *address*.

        None where a lookup fails; b"" where it does not but the record as a whole
        is not one that LLVM can read.
        """
        answer = ffi.new("gsym_answer *")
        if not self._find(address, 0, answer):
            return None
        self._append(lib.gsym_text_dump_entry, self._decoder(), answer.entry)
        return self._text.take()

    def dump(self) -> Iterator[bytes]:
        """The whole file as text, in blocks of about a megabyte."""
        place = ffi.new("gsym_dump_place *")
        while place.part != lib.GSYM_DUMP_DONE:
            self._append(lib.gsym_text_dump, self._decoder(), place, _BLOCK_SIZE)
            yield self._text.take()

    def _find(self, address: int, child: int, answer: Any) -> bool:
        """Look up without asking for frames; False where there is no answer."""
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
        """Let *function* of the engine append to the text."""
        status = function(self._text.handle, self._image, *arguments, self._error)
        check(status, self._error)


def _flags(*, merged: bool, blank_line: bool) -> int:
    chosen = lib.GSYM_TEXT_MERGED if merged else 0
    return int(chosen | (lib.GSYM_TEXT_BLANK_LINE if blank_line else 0))
