"""Responses of the symbolication API; the engine writes the frames of version 5."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import accumulate, chain
from typing import Any

import msgspec

from gsym.api.answer_texts import AnswerTexts, clean_text, names_of, quoted
from gsym.api.request import Job
from gsym.api.symbolication import ModuleWork, Symbolication
from gsym.engine.native import check, ffi, lib
from gsym.engine.text_buffer import TextBuffer
from gsym.errors import LimitError
from gsym.modules.open_module import OpenModule
from gsym.reading.frames import distinct

CData = Any  # a cffi object
_ANY = 1 << 62
_FRAME_OF_ANSWER = 4096  # typical bytes of a response without its frames
_ERROR_NAMES = {
    "missing": "ModuleMissing",
    "failed": "SourceFailed",
    "refused": "FileRefused",
}


def answer_v5(
    work: Symbolication,
    texts: AnswerTexts | None = None,
    *,
    debug: dict[str, Any] | None = None,
    has_errors: bool = True,
    most: int = _ANY,
) -> memoryview:
    """The body of a response to `/symbolicate/v5`, assembled by the engine.

    *debug* is the value of that key; None: no such key. With *has_errors* it says why
    modules are missing.
    """
    texts = AnswerTexts() if texts is None else texts
    frames: dict[int, FrameTexts] = {}
    left = most
    for _, modules in work.jobs:
        for module in modules:
            if id(module) not in frames:
                frames[id(module)] = FrameTexts(module, texts, left)
                left -= frames[id(module)].size
    text = TextBuffer()
    text.reserve(most - left + _FRAME_OF_ANSWER)
    opening = b'{"results":[{"stacks":['
    for job, modules in work.jobs:
        text.put(opening)
        put_stacks(text, job, [frames[id(module)] for module in modules])
        text.put(_modules_text(modules[:-1], has_errors=has_errors))
        if job.error:
            text.put(b',"error":%b' % msgspec.json.encode(job.error))
        text.put(b"}")
        opening = b',{"stacks":['
    text.put(b"]" if work.jobs else b'{"results":[]')
    if debug is not None:
        text.put(b',"debug":%b' % msgspec.json.encode(debug))
    text.put(b"}")
    return text.view()


def answer_v4(
    work: Symbolication, most: int = _ANY, *, has_errors: bool = True
) -> bytes:
    """The body of a response to a `/symbolicate/v4` request with one job.

    With *has_errors* it says which modules are damaged.
    """
    ((job, modules),) = work.jobs
    texts: dict[int, Iterator[str]] = {}
    for module in modules:
        if id(module) not in texts:
            calls = _call_texts(module, most)
            most -= sum(map(len, calls))
            texts[id(module)] = iter(calls)
    next_of = [texts[id(module)].__next__ for module in modules]
    stacks = [[next_of[index]() for index in stack.modules] for stack in job.stacks]
    known = [module.is_found if module.is_wanted else None for module in modules[:-1]]
    answer: dict[str, object] = {"symbolicatedStacks": stacks, "knownModules": known}
    named = {module.label: module for module in modules[:-1]}
    damaged = {
        clean_text(at): _errors(each) for at, each in named.items() if each.damage
    }
    notes = {"unsure": _unsure(named), "moduleErrors": has_errors and damaged}
    answer |= {name: each for name, each in notes.items() if each}
    return msgspec.json.encode(answer)


def _modules_text(modules: list[ModuleWork], *, has_errors: bool) -> bytes:
    """The text after the stacks of a job."""
    named = {module.label: module for module in modules}
    answer: dict[str, object] = {
        "found_modules": {
            clean_text(label): each.is_found if each.is_wanted or each.problem else None
            for label, each in named.items()
        }
    }
    if unsure := _unsure(named):
        answer["unsure"] = unsure
    if errors := {
        clean_text(label): _errors(module)
        for label, module in named.items()
        if module.problem
        or (has_errors and module.is_wanted and (module.damage or not module.is_found))
    }:
        answer["module_errors"] = errors
    return b"],%b" % msgspec.json.encode(answer)[1:-1]


def _unsure(modules: dict[str, ModuleWork]) -> dict[str, str]:
    """Reasons why modules may be other builds than those that were asked for, by name.

    Modules that are surely right are left out.
    """
    return {
        label: clean_text(each.unsure)
        for label, each in modules.items()
        if each.is_wanted and each.unsure
    }


def _errors(work: ModuleWork) -> list[dict[str, str]]:
    if work.problem:
        return [{"name": "InvalidModule", "message": work.problem}]
    if work.key is None:
        text = f"invalid debug id '{work.debug_id}'"
        return [{"name": "InvalidBreakpadId", "message": text}]
    if work.damage:
        return [{"name": "FileRefused", "message": clean_text(work.damage)}]
    attempts = work.module.attempts if work.module is not None else ()
    said = [
        {
            "name": _ERROR_NAMES.get(attempt.outcome, "SourceFailed"),
            "message": clean_text(attempt.text),
        }
        for attempt in attempts
        if attempt.outcome != "found"
    ]
    message = "no symbols for this module"
    return said or [{"name": "ModuleMissing", "message": message}]


def _call_texts(work: ModuleWork, most: int) -> list[str]:
    """The frames of a module, in their order, in the format of version 4."""
    module = clean_text(work.shown_name)
    calls = [hex(offset) for offset in work.offsets]
    left = most - len(calls) * len(module)
    image = work.module.image if work.module is not None and work.is_found else None
    for first, _count, frames in work.look_up():
        codes, values = frames.distinct("name")
        names = [*names_of(image, values)]
        for at, code, inlined in zip(  # noqa: B905 - of one table
            frames.address_index, codes, frames.inlined
        ):
            if not inlined:
                calls[first + at] = names[code]
                left -= len(names[code])
        if left < 0:
            raise LimitError("response too large")
    for at in work.unknown:
        calls[at] = "-0x1"
    return [f"{call} (in {module})" for call in calls]


def debug_statistics(work: Symbolication) -> dict[str, Any]:
    """The value of `debug` in a response, with times in seconds.

    Files are mapped unchanged: the times other servers need to save parsed files are 0
    here.
    """
    counts = Counter(
        label
        for _, modules in work.jobs
        for label in {each.label for each in modules if each.is_wanted}
    )
    searched = [each for each in work.modules.values() if each.is_wanted]
    hits = [each for each in searched if each.was_known]
    fetched = [each for each in searched if each not in hits and each.module]
    downloads = {each.label: _fetched(each) for each in fetched if each.is_found}
    return {
        "time": work.seconds,
        "modules": {"count": counts.total(), "stacks_per_module": dict(counts)},
        "cache_lookups": {
            "count": len(searched),
            "hits": len([each for each in hits if each.is_found]),
            "time": sum(each.seconds for each in hits),
        },
        "downloads": {
            "count": len(fetched),
            "size": sum(size for size, _ in downloads.values()),
            "time": sum(seconds for _, seconds in downloads.values()),
            "size_per_module": {label: size for label, (size, _) in downloads.items()},
            "time_per_module": {
                label: spent for label, (_, spent) in downloads.items()
            },
            "fail_time_per_module": {
                each.label: each.seconds for each in fetched if not each.is_found
            },
        },
        "parse_sym": {"time": 0, "time_per_module": {}, "fail_time_per_module": {}},
        "save_symcache": {"time": 0, "time_per_module": {}},
    }


def _fetched(work: ModuleWork) -> tuple[int, float]:
    """Bytes and seconds of all downloads for a module."""
    attempts = work.module.attempts if work.module is not None else ()
    return sum(each.size for each in attempts), sum(each.seconds for each in attempts)


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
