"""Passages of a long text that may have frames; the text between them is copied.

Reading all of a log would take longer than answering its stacks, and keeping it more
memory than their modules.
"""

from __future__ import annotations

import os
from contextlib import contextmanager
from io import BytesIO

from gsym.lazy import regex, tempfile
from gsym.model import UINT64_MAX
from gsym.records import NamedTuple
from gsym.reports.stacks.documents import decode_document, may_be_document

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from typing import Any, BinaryIO, TypeVar

    _Part = TypeVar("_Part", str, "str | tuple[int, int]")

    Passages = Sequence[tuple[int, int]]
    """Start and end of each, in bytes."""

ANY_NUMBER = ((0, UINT64_MAX),)
"""The ranges of addresses for a text in which each number may be one."""

_BLOCK = 1 << 20  # bytes that are read at once
_SHORT = 1 << 18  # bytes of a text that is one passage
_BEFORE, _AFTER = 1 << 14, 1 << 12  # bytes around what may be a frame
_LONG_LINE = 1 << 16
_JSON_LINES = 3
# Elements with addresses, or that addresses depend on.
_MARKUP = regex(rb"\{\{\{(?:bt|pc|mmap|module):")


@contextmanager
def open_text(path: str) -> Iterator[BinaryIO]:
    """A file that can be read at any place."""
    with open(path, "rb") as file, seekable(file) as found:
        yield found


@contextmanager
def seekable(stream: BinaryIO) -> Iterator[BinaryIO]:
    """Contents of a stream, which may be a pipe, as a file that can be searched."""
    if stream.seekable() and stream.tell() == 0:
        yield stream
        return
    head = stream.read(_SHORT + 1)
    if len(head) <= _SHORT:
        yield BytesIO(head)
        return
    with tempfile.TemporaryFile(prefix="gsym-") as file:
        while head:
            file.write(head)
            head = stream.read(_BLOCK)
        yield file


class FileText(NamedTuple):
    """A part of a text that is still in its file."""

    text: LongText
    start: int
    end: int

    def __str__(self) -> str:
        return self.text.part(self.start, self.end)

    def pieces(self) -> Iterator[str]:
        """The text in pieces."""
        for at in range(self.start, self.end, _BLOCK):
            yield self.text.part(at, min(at + _BLOCK, self.end))


class LongText:
    """A text in a file."""

    def __init__(self, file: BinaryIO, errors: str = "surrogateescape") -> None:
        self._file = file
        self._errors = errors
        self._size = file.seek(0, os.SEEK_END)

    def document(self) -> Any:
        """The JSON value that it is; None if it is another text, or many values."""
        head = self.part(0, _SHORT)
        if not may_be_document(head, self._size):
            return None
        if self._size > _SHORT:
            lines = head.split("\n", _JSON_LINES)[:_JSON_LINES]
            if all(map(decode_document, lines)):
                return None
            head = self.part(0, self._size)
        return decode_document(head)

    def whole(self) -> Passages:
        """One passage of all the text."""
        return [(0, self._size)]

    def part(self, start: int, end: int) -> str:
        """The text from *start* to *end*."""
        self._file.seek(start)
        return self._file.read(end - start).decode("utf-8", self._errors)

    def passages(self, ranges: Sequence[tuple[int, int]] = ()) -> Passages:
        """Passages that may have frames, with lines that may explain them.

        Args:
            ranges: Ascending ranges of addresses: numbers in them may be addresses
                without being written as such.
        """
        if self._size <= _SHORT:
            return self.whole()
        from gsym.engine.native import ffi, lib

        find = lib.gsym_text_find_address
        found: list[tuple[int, int]] = []
        wanted = ffi.new("gsym_range[]", ranges)
        gaps = ffi.new("uint32_t[]", lib.GSYM_PAGE_DIGITS + 1)
        start = 0
        while start < self._size:
            self._file.seek(start)
            block = self._file.read(_BLOCK)
            if not block:  # the file was cut meanwhile
                break
            if b"{{{" in block and _MARKUP.search(block):
                return self.whole()
            is_last = start + len(block) >= self._size
            end = 0 if is_last else block.rfind(b"\n") + 1
            end = end or len(block)
            at = 0
            while (hit := find(block, end, at, wanted, len(wanted), gaps)) < end:
                at = block.find(b"\n", min(hit + _AFTER, end), end) + 1 or end
                begin = max(start + hit - _BEFORE, 0)
                if found and begin <= found[-1][1]:
                    begin = found.pop()[0]
                found.append((begin, start + at + _AFTER))
            start += end
        return [(self._line(begin), self._line(end)) for begin, end in found]

    def read(self, passages: Passages) -> str:
        """The texts of passages, one after the other."""
        return "".join([self.part(*each) for each in passages])

    def with_rest(
        self, parts: Iterable[_Part], texts: Iterable[str], passages: Passages
    ) -> Iterator[_Part | FileText]:
        """Parts of a report on passages, and the text between these."""
        rest: list[tuple[int, FileText]] = []  # after how many characters of passages
        end = at = 0
        for begin, stop in passages:
            if begin > end:
                rest.append((at, FileText(self, end, begin)))
            end, at = stop, at + len(self.part(begin, stop))
        if end < self._size:
            rest.append((at, FileText(self, end, self._size)))
        if not rest:
            yield from parts
            return
        rest.reverse()
        at = 0
        pairs = zip(parts, texts, strict=True)
        for part, text in pairs:
            while rest and rest[-1][0] < at + len(text):
                place, between = rest.pop()
                # Passages begin with lines, so what is cut is no frame.
                if place > at and isinstance(part, str):
                    cut = place - at
                    if part[:cut] != text[:cut]:
                        # Source lines that were added are in the first line.
                        cut += len(part) - len(text)
                    yield part[:cut]
                    part, text = part[cut:], text[place - at :]  # noqa: PLW2901
                    at = place
                yield between
            yield part
            at += len(text)
            if not rest:
                break
        yield from (part for part, _ in pairs)
        yield from (between for _, between in reversed(rest))

    def _line(self, place: int) -> int:
        """Begin of the first line at a place, or after it."""
        if not 0 < place < self._size:
            return min(max(place, 0), self._size)
        self._file.seek(place - 1)
        return place - 1 + len(self._file.readline(_LONG_LINE))
