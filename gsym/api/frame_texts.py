"""Frames of a module, written by the engine into responses to `/symbolicate/v5`."""

from __future__ import annotations

from array import array
from itertools import accumulate, chain

from gsym.api.answer_texts import AnswerTexts, quoted
from gsym.engine.native import check, ffi, lib
from gsym.errors import LimitError
from gsym.reading.frames import distinct

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from gsym.api.request import Job
    from gsym.api.symbolication import ModuleWork
    from gsym.engine.text_buffer import TextBuffer
    from gsym.modules.open_module import OpenModule

    CData = Any  # a cffi object


class FrameTexts:
    """The frames of a module, to be written into stacks."""

    def __init__(self, work: ModuleWork, texts: AnswerTexts, most: int) -> None:
        work.place_named()
        # Keeps alive what the engine reads.
        self._kept: list[object] = []
        self._most = most
        # the frames for the engine, and the position of the next one
        self.queue: CData = ffi.new("gsym_frame_queue *")
        prefix = b'"module":%b,"module_offset":"' % quoted(work.shown_name)
        opening = self._keep(ffi.from_buffer("char[]", prefix))
        self.queue.head, self.queue.head_size = opening, len(prefix)
        offsets = self._keep(ffi.from_buffer("uint64_t[]", work.offsets))
        self.queue.offsets, self.queue.count = offsets, len(work.offsets)
        unknown = self._keep(ffi.new("uint64_t[]", work.unknown))
        self.queue.unknown, self.queue.unknown_count = unknown, len(work.unknown)
        # maximum bytes of the text
        self.size: int = self._checked(lib.gsym_frame_queue_size(self.queue))
        if work.is_found and work.module is not None:
            self._look_up(work, work.module, texts)

    def _look_up(
        self, work: ModuleWork, module: OpenModule, texts: AnswerTexts
    ) -> None:
        parts = []
        for first, count, frames in work.look_up():
            kept = texts.of(module)
            part = ffi.new("gsym_frame_part *")
            lib.gsym_batch_columns(frames.batch, ffi.addressof(part, "columns"))
            # Offsets outside the address space are not in the engine's columns.
            indexes = self._keep(ffi.from_buffer("uint32_t[]", frames.address_index))
            part.columns.address_index = indexes
            columns, rows = part.columns, part.columns.count
            self._fill(part.names, kept.names, distinct(columns.name, rows, 8))
            self._fill(part.files, kept.files, distinct(columns.file, rows, 4))
            part.end = first + count
            self.size = self._checked(self.size + lib.gsym_frame_part_size(part))
            self._keep(frames)
            parts.append(part[0])
        self.queue.image = self._keep(module.image)
        self.queue.parts = self._keep(ffi.new("gsym_frame_part[]", parts))
        self.queue.part_count = len(parts)

    def _fill(
        self,
        texts: CData,
        texts_of: Callable[[list[int]], list[bytes]],
        column: tuple[CData, CData, list[int]],
    ) -> None:
        owner, codes, values = column
        self._keep(owner)
        found = texts_of(values)
        ends = array("Q", accumulate(map(len, found)))
        self._checked(ends[-1] if ends else 0)
        texts.codes = codes
        texts.bytes = self._keep(ffi.from_buffer("char[]", b"".join(found)))
        texts.ends = self._keep(ffi.from_buffer("uint64_t[]", ends))
        texts.count = len(found)

    def _keep(self, thing: CData) -> CData:
        self._kept.append(thing)
        return thing

    def _checked(self, size: int) -> int:
        if size > self._most:
            raise LimitError("response too large")
        return size


def put_stacks(text: TextBuffer, job: Job, texts: list[FrameTexts]) -> None:
    """Append the stacks of a job, each as a JSON array, with commas between."""
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
