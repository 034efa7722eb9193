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

__all__ = ["FrameTexts", "clean_text", "put_stacks", "quoted"]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from gsym.api.request import Job
    from gsym.api.symbolication import ModuleWork
    from gsym.frames import Frames, Tables
    from gsym.symbolizer import OpenModule
    from gsym.text_buffer import TextBuffer

    CData = Any  # a cffi object
    PathMap = Callable[[str], str]

# Of one kind, for each open module.
_MOST_KEPT = 1 << 17
_MOST_KEPT_SIZE = 1 << 24  # bytes


class FrameTexts:
    """The frames of a module, ready to be written into stacks.

    Args:
        work: Not looked up before.
        path_map: What becomes of paths of source files; None: nothing.
        most: Bytes of them, about.

    Raises:
        LimitError: They have more.

    Attributes:
        queue: The engine's view of them, which tells as well which one is next.
        size: Bytes that they have at the most.
    """

    def __init__(self, work: ModuleWork, path_map: PathMap | None, most: int) -> None:
        # What the engine reads has to live as long as the queue.
        self._kept: list[object] = []
        self._most = most
        self.queue: CData = ffi.new("gsym_frame_queue *")
        head = b'"module":%b,"module_offset":"' % quoted(work.shown_name)
        opening = self._keep(ffi.from_buffer("char[]", head))
        self.queue.head, self.queue.head_size = opening, len(head)
        offsets = self._keep(ffi.from_buffer("uint64_t[]", work.offsets))
        self.queue.offsets, self.queue.count = offsets, len(work.offsets)
        unknown = self._keep(ffi.new("uint64_t[]", work.unknown))
        self.queue.unknown, self.queue.unknown_count = unknown, len(work.unknown)
        self.size = self._checked(lib.gsym_frame_queue_size(self.queue))
        if work.is_found and work.module is not None:
            self._look_up(work, work.module, path_map)

    def _look_up(
        self, work: ModuleWork, module: OpenModule, path_map: PathMap | None
    ) -> None:
        image = module.open_reader()._image  # noqa: SLF001
        parts = []
        for first, count, frames in work.look_up():
            pieces = _pieces(module, image, frames.tables, path_map)
            part = ffi.new("gsym_frame_part *")
            lib.gsym_batch_columns(frames.batch, ffi.addressof(part, "columns"))
            self._fill(part.names, frames, "name", pieces.names)
            self._fill(part.files, frames, "file", pieces.files)
            part.end = first + count
            self.size = self._checked(self.size + lib.gsym_frame_part_size(part))
            self._keep(frames)
            parts.append(part[0])
        self.queue.image = self._keep(image)
        self.queue.parts = self._keep(ffi.new("gsym_frame_part[]", parts))
        self.queue.part_count = len(parts)

    def _fill(self, texts: CData, frames: Frames, column: str, pieces: _Kept) -> None:
        """Have *texts* tell what is written for a column."""
        codes, values = frames.distinct(column)
        found = [pieces[value] for value in values]
        ends = array("Q", accumulate(map(len, found)))
        self._checked(ends[-1] if ends else 0)
        texts.codes = self._keep(ffi.from_buffer("uint32_t[]", codes))
        texts.bytes = self._keep(ffi.from_buffer("char[]", b"".join(found)))
        texts.ends = self._keep(ffi.from_buffer("uint64_t[]", ends))
        texts.count = len(found)

    def _keep(self, thing: CData) -> CData:
        self._kept.append(thing)
        return thing

    def _checked(self, size: int) -> int:
        if size > self._most:
            raise LimitError("the frames have too much text")
        return size


def put_stacks(text: TextBuffer, job: Job, texts: list[FrameTexts]) -> None:
    """Append the stacks of a job, each as a JSON array, with commas between.

    Args:
        text: What they are appended to.
        job: Whose frames come next.
        texts: Of its modules, and at the end of frames that are in none.
    """
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
