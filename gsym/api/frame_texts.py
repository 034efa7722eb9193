"""Frames of a module as pieces of a response to `/symbolicate/v5`.

The engine puts them together. Names and files are encoded here, each once for as long
as its module is open.
"""

from __future__ import annotations

from array import array
from itertools import accumulate, chain

import msgspec

from gsym._native import check, ffi, lib, to_bytes
from gsym.demangling import demangle_bytes
from gsym.errors import LimitError
from gsym.model import join_path
from gsym.text_buffer import TextBuffer

__all__ = ["FrameTexts", "clean_text", "quoted", "stacks_text"]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from gsym.api.request import Job
    from gsym.api.symbolication import ModuleWork
    from gsym.frames import Frames, Tables
    from gsym.symbolizer import OpenModule

    CData = Any  # a cffi object
    PathMap = Callable[[str], str]

# Of one kind, for each open module.
_MOST_KEPT = 1 << 17
_MOST_KEPT_SIZE = 1 << 24  # bytes


class FrameTexts:
    """The frames of a module, ready to be placed into stacks.

    Args:
        work: Looked up.
        path_map: What becomes of paths of source files; None: nothing.
        most: Bytes of them, about.

    Raises:
        LimitError: They have more.

    Attributes:
        queue: The engine's view of them, which tells as well which one is next.
    """

    def __init__(self, work: ModuleWork, path_map: PathMap | None, most: int) -> None:
        self._text = TextBuffer()
        self._ends = array("Q", bytes(work.offsets.itemsize * len(work.offsets)))
        self.queue: CData = ffi.new("gsym_frame_queue *")
        head = b'"module":%b,"module_offset":"' % quoted(work.shown_name)
        self._write(work, head, path_map, most)
        if work.unknown:
            self._mend(work.unknown, b'%b-0x1"}' % head)

    @property
    def size(self) -> int:
        """Bytes of them all."""
        return self._ends[-1] if self._ends else 0

    def _write(
        self, work: ModuleWork, head: bytes, path_map: PathMap | None, most: int
    ) -> None:
        style = ffi.new("gsym_frame_style *")
        opening = ffi.from_buffer(head)
        style.head, style.head_size, style.limit = opening, len(head), most
        ends = ffi.from_buffer("uint64_t[]", self._ends)
        asked = ffi.from_buffer("uint64_t[]", work.offsets), ends
        if not work.is_found:
            self._put(style, ffi.NULL, ffi.NULL, asked, 0, len(ends))
        elif work.module is not None:
            image = work.module.open_reader()._image  # noqa: SLF001
            for first, count, frames in work.look_up():
                pieces = _pieces(work.module, image, frames.tables, path_map)
                # What the engine reads has to live until it has.
                kept = [
                    _fill(style.names, frames, "name", pieces.names, most),
                    _fill(style.files, frames, "file", pieces.files, most),
                ]
                self._put(style, image, frames.batch, asked, first, count)
                del kept
        size = ffi.new("size_t *")
        self.queue.bytes = lib.gsym_text_bytes(self._text.handle, size)
        self._place(ends)

    def _put(  # noqa: PLR0913, PLR0917 - what the engine takes
        self,
        style: CData,
        image: CData,
        batch: CData,
        asked: tuple[CData, CData],
        first: int,
        count: int,
    ) -> None:
        """Append frames, and tell where each ends."""
        offsets, ends = asked
        text = self._text
        status = lib.gsym_text_frames(
            *(text.handle, image, batch, style, offsets + first, count),
            *(ends + first, text.error),
        )
        check(status, text.error)

    def _place(self, ends: CData) -> None:
        self._kept_ends = ends
        self.queue.ends, self.queue.count = ends, len(self._ends)

    def _mend(self, unknown: list[int], frame: bytes) -> None:
        """Put *frame* in place of some."""
        whole, begin, frames = self._text.take(), 0, []
        for end in self._ends:
            frames.append(whole[begin:end])
            begin = end
        for at in unknown:
            frames[at] = frame
        self._mended = ffi.from_buffer(b"".join(frames))
        self.queue.bytes = self._mended
        self._ends = array("Q", accumulate(map(len, frames)))
        self._place(ffi.from_buffer("uint64_t[]", self._ends))


def stacks_text(job: Job, texts: list[FrameTexts]) -> bytes:
    """The stacks of a job, each as a JSON array, with commas between.

    Args:
        job: Whose frames come next.
        texts: Of its modules, and at the end of frames that are in none.
    """
    text = TextBuffer()
    queues = ffi.new("gsym_frame_queue *[]", [each.queue for each in texts])
    modules = array("q", chain.from_iterable(stack.modules for stack in job.stacks))
    ends = array("Q", accumulate(len(stack.modules) for stack in job.stacks))
    status = lib.gsym_text_stacks(
        text.handle,
        queues,
        len(texts),
        ffi.from_buffer("int64_t[]", modules),
        ffi.from_buffer("uint64_t[]", ends),
        len(ends),
        text.error,
    )
    check(status, text.error)
    return text.take()


def _fill(
    texts: CData, frames: Frames, column: str, pieces: _Kept, most: int
) -> list[object]:
    """Have *texts* tell what is written for a column; what it stands on."""
    codes, values = frames.distinct(column)
    found = [pieces[value] for value in values]
    ends = array("Q", accumulate(map(len, found)))
    if ends and ends[-1] > most:
        raise LimitError("the frames have too much text")
    codes_view = ffi.from_buffer("uint32_t[]", codes)
    whole, ends_view = (
        ffi.from_buffer(b"".join(found)),
        ffi.from_buffer("uint64_t[]", ends),
    )
    texts.codes, texts.bytes, texts.ends = codes_view, whole, ends_view
    texts.count = len(found)
    return [codes_view, whole, ends_view]


class _Pieces:
    """Names and files of an open module, encoded."""

    __slots__ = ("files", "names")

    def __init__(self, image: CData, tables: Tables, path_map: PathMap | None) -> None:
        def name(number: int) -> bytes:
            size = ffi.new("size_t *")
            raw = lib.gsym_image_string(image, number, size)
            text = demangle_bytes(ffi.buffer(raw, size[0])[:])
            return msgspec.json.encode(text.decode("utf-8", "replace"))

        def file(number: int) -> bytes:
            path = join_path(*tables.files[number])
            if not path:
                return b""
            return b',"file":%b' % quoted(path_map(path) if path_map else path)

        self.names = _Kept(name)
        self.files = _Kept(file)


class _Kept(dict[int, bytes]):
    """Pieces by their number; emptied when it is full."""

    __slots__ = ("_make", "_size")

    def __init__(self, make: Callable[[int], bytes]) -> None:
        self._make = make
        self._size = 0

    def __missing__(self, number: int) -> bytes:
        piece = self._make(number)
        self._size += len(piece)
        if len(self) >= _MOST_KEPT or self._size > _MOST_KEPT_SIZE:
            self.clear()
            self._size = len(piece)
        self[number] = piece
        return piece


def _pieces(
    module: OpenModule, image: CData, tables: Tables, path_map: PathMap | None
) -> _Pieces:
    kept = module.texts.get("v5")
    if kept is None or kept[0] is not path_map:
        kept = module.texts["v5"] = (path_map, _Pieces(image, tables, path_map))
    found: _Pieces = kept[1]
    return found


def quoted(text: str) -> bytes:
    """*text* as JSON, between quotes."""
    return msgspec.json.encode(clean_text(text))


def clean_text(text: str) -> str:
    """*text* without what is none: names are bytes of any kind."""
    if text.isascii():
        return text
    try:
        return to_bytes(text).decode("utf-8", "replace")
    except UnicodeEncodeError:  # half of a pair, which no bytes stand for
        return text.encode("utf-8", "replace").decode()
