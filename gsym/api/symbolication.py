"""Jobs -> the symbols at the addresses of their stacks, a module at a time.

The frames of all jobs of a request are gathered by module, and looked up together.
Opening modules may take long, so it is a separate step, which a server does
concurrently with other requests.
"""

from __future__ import annotations

import time
from array import array
from collections.abc import Iterator, Sequence

from gsym.api.request import Job, Stack
from gsym.errors import FormatError
from gsym.modules.key import ModuleKey, key_of_debug_id
from gsym.modules.open_module import OpenModule
from gsym.modules.symbolizer import Symbolizer
from gsym.reading.frames import Frames

_MOST_AT_ONCE = 1 << 16  # offsets that are looked up together
_UNKNOWN = "<unknown>"


class ModuleWork:
    """A module of a request, and the offsets to look up."""

    def __init__(self, name: str, debug_id: str, code_id: str = "") -> None:
        self.name: str = name  # its debug file as in the request
        self.debug_id: str = debug_id  # as in the request
        self.code_id: str = code_id  # as in the request; "" if it has none
        self.problem: str = ""  # why it is not looked up
        self.damage: str = ""  # why records of its file cannot be read
        # of its frames, from its base, in the order of the request
        self.offsets: array[int] = array("Q")
        # indexes of unknown offsets, which are 0 in *offsets*
        self.unknown: list[int] = []
        # of these, function and offset of those that are given as `kernel+0x40`
        self.named: dict[int, tuple[str, int]] = {}
        # None if nothing is to be looked up, or the id is invalid
        self.key: ModuleKey | None = None
        # the result of opening it; None before that, and without a key
        self.module: OpenModule | None = None
        self.was_open: bool = False  # whether it was open or in the store before
        self.seconds: float = 0.0  # the time that opening it took

    @property
    def label(self) -> str:
        """The key of the module in `found_modules`."""
        return f"{self.name}/{self.debug_id}"

    @property
    def is_wanted(self) -> bool:
        """Whether a frame refers to it, and it has a name and an id."""
        has_ids = self.name and self.debug_id and not self.problem
        return bool(self.offsets and has_ids)

    @property
    def was_known(self) -> bool:
        """Whether no source was asked: it was available, or known to be missing."""
        return self.was_open or (self.module is not None and self.module.is_cached)

    @property
    def is_found(self) -> bool:
        """Whether it has symbols."""
        return self.module is not None and self.module.reader is not None

    @property
    def unsure(self) -> str:
        """Reason why its symbols may be those of another build; "" for none."""
        return self.module.unsure if self.is_found and self.module else ""

    @property
    def shown_name(self) -> str:
        """The name of the module in frames: that of the binary if known."""
        entry = self.module.entry if self.is_found and self.module else None
        code_file = entry.identity.code_file if entry is not None else ""
        return code_file or self.name or _UNKNOWN

    def open(self, symbolizer: Symbolizer) -> None:
        """Open it; fetching and converting may take long."""
        if self.key is not None:
            started = time.perf_counter()
            self.module = symbolizer.open(self.key)
            self.seconds = time.perf_counter() - started

    def place_named(self) -> None:
        """Find the offsets of functions that frames name, as far as they are sure."""
        named, self.named = self.named, {}
        if not named or self.module is None or self.module.reader is None:
            return
        from gsym.modules.function_names import FunctionNames

        names = FunctionNames(self.module.reader, "")
        base = self.module.reader.header.base_address
        placed = set()
        for at, (name, offset) in named.items():
            try:
                found = names.find(name)
            except FormatError as error:
                self.damage = str(error)
                return
            starts = {each.start for each in found if offset < max(each.size, 1)}
            place = starts.pop() + offset - base if len(starts) == 1 else -1
            if place >= 0:  # the call before the first function is not in the module
                self.offsets[at] = place
                placed.add(at)
        self.unknown = [at for at in self.unknown if at not in placed]

    def look_up(self) -> Iterator[tuple[int, int, Frames]]:
        """Look up its offsets in blocks, to limit memory.

        Yields:
            Index of the first offset, number of offsets, and their frames; nothing
            without symbols.
        """
        if self.module is not None and self.module.reader is not None:
            for first in range(0, len(self.offsets), _MOST_AT_ONCE):
                part = self.offsets[first : first + _MOST_AT_ONCE]
                frames = self.module.lookup_many(part)
                self.damage = self.damage or str(frames.damage or "")
                yield first, len(part), frames

    def add(self, offset: int) -> None:
        """Add an offset; -1 is unknown."""
        if offset < 0:
            self.unknown.append(len(self.offsets))
            offset = 0
        self.offsets.append(offset)


class Symbolication:
    """The work for one request."""

    def __init__(self, jobs: Sequence[Job]) -> None:
        self._started = time.perf_counter()
        # the distinct modules of the request
        self.modules: dict[tuple[str, str, str], ModuleWork] = {}
        # each with the modules of its memory map, and one for frames without a module
        self.jobs: list[tuple[Job, list[ModuleWork]]] = []
        self.frames: int = 0  # number of frames of all jobs
        nowhere = ModuleWork("", "")
        for job in jobs:
            code_ids = job.code_ids or [""] * len(job.modules)
            works = [
                self.modules.get((*module, code_id)) or self._add(*module, code_id)
                for module, code_id in zip(job.modules, code_ids, strict=True)
            ]
            for at, problem in job.problems.items():
                works[at].problem = problem
            works.append(nowhere)  # which is at index -1
            self.jobs.append((job, works))
            for stack in job.stacks:
                self.frames += len(stack.offsets)
                _ask(works, stack)
        for work in self.modules.values():
            if work.is_wanted:
                try:
                    key = key_of_debug_id(work.name, work.debug_id)
                    work.key = key._replace(code_id=work.code_id.upper())
                except ValueError:
                    work.key = None

    def _add(self, name: str, debug_id: str, code_id: str) -> ModuleWork:
        work = ModuleWork(name, debug_id, code_id)
        self.modules[name, debug_id, code_id] = work
        return work

    @property
    def seconds(self) -> float:
        """Time since the start."""
        return time.perf_counter() - self._started

    def open_known(self, symbolizer: Symbolizer) -> list[ModuleWork]:
        """Open the modules that are in the store; return the others, for `open`."""
        wanted = [work for work in self.modules.values() if work.key is not None]
        for work in wanted:
            work.module = symbolizer.find(work.key)  # type: ignore[arg-type]
            work.was_open = work.module is not None
        return [work for work in wanted if not work.was_open]

    def open_all(self, symbolizer: Symbolizer) -> None:
        """Open all modules, one after the other."""
        for work in self.open_known(symbolizer):
            work.open(symbolizer)


def _ask(works: list[ModuleWork], stack: Stack) -> None:
    """Add the frames of a stack to their modules."""
    modules, offsets = stack.modules, stack.offsets
    if not offsets:
        return
    if min(offsets) < 0:
        for at, (index, offset) in enumerate(zip(modules, offsets, strict=True)):
            work = works[index]
            if at in stack.named:
                work.named[len(work.offsets)] = stack.named[at]
            work.add(offset)
    elif min(modules) == max(modules):
        works[modules[0]].offsets.extend(offsets)
    else:
        want = [work.offsets.append for work in works]
        for index, offset in zip(modules, offsets):  # noqa: B905 - of one table
            want[index](offset)
