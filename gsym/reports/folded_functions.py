"""Functions that a linker has folded into one, told apart by who calls them.

Identical code folding gives several functions one address. A call site in the caller
says which of them it calls, where the GSYM files have call sites; merged functions in
the GSYM file, or symbols of the binary, say which ones there are.
"""

from __future__ import annotations

import re
from functools import partial
from itertools import chain

from gsym.engine.demangling import demangle
from gsym.modules.function_names import FunctionNames
from gsym.reports.report import SEVERAL

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from gsym.model import Lookup
    from gsym.reports.answers import Answers
    from gsym.reports.report import ReportFrame
    from gsym.reports.report_work import ModuleOfReport

_MOST_NAMED = 4
_MOST_WITHOUT = 64  # callers in a row without a call site: their module has none


class FoldedFunctions:
    """Chooses the functions of frames by the call sites of their callers.

    Args:
        modules: The modules of the report, opened.
        answers: Its frames with their calls, which are replaced by those chosen.
    """

    def __init__(
        self, modules: Sequence[ModuleOfReport], answers: list[ReportFrame] | Answers
    ) -> None:
        self._modules = modules
        self._answers = answers
        self._are_folded: dict[tuple[int, int], bool] = {}  # by module and start
        self._called: dict[tuple[int, int], tuple[str, ...]] = {}  # by return address
        self._without = [0] * len(modules)
        self._has_sites = False
        readers = [each.reader for each in modules]
        self._bases = [each.header.base_address if each else 0 for each in readers]
        self._names: dict[int, list[FunctionNames]] = {}  # by module

    def choose(
        self,
        order: Iterable[tuple[int, int]],
        starts: Iterable[tuple[int, int]],
        callers: Collection[int],
    ) -> None:
        """Choose the functions of frames, callers first.

        Args:
            order: Index and stack of each frame.
            starts: Module and start of each of their functions.
            callers: Modules with return addresses.
        """
        has_folded = any(self._is_folded(*each) for each in starts)
        answers, bases, are_folded = self._answers, self._bases, self._are_folded
        caller, last = -1, -1
        for at, stack in order:
            if not (has_folded or any(map(self._may_call, callers))):
                return  # as in most reports
            frame = answers[at]
            number, calls, offset = frame[1], frame[4], frame[5]
            if calls:
                is_called = stack == last and answers[caller][7]
                called = self._called_by(caller) if is_called else ()
                own = calls[-1]
                if not called or called != (own[0],):
                    start = bases[number] + (offset or 0) - own[4]
                    is_folded = are_folded.get((number, start))
                    if is_folded is None:
                        is_folded = self._is_folded(number, start)
                    if is_folded:
                        answers[at] = self._chosen(frame, called)
                    elif len(called) == 1 and called[0] != own.name:
                        answers[at] = self._named(frame, start, called[0])
            caller, last = at, stack

    def _may_call(self, number: int) -> bool:
        """Whether a module may have call sites."""
        return self._has_sites or self._without[number] <= _MOST_WITHOUT

    def _is_folded(self, number: int, start: int) -> bool:
        """Whether others were merged into the function of a module at a start."""
        reader = self._modules[number].reader
        count = reader and reader.mapped_for((start,)).merged_count(start)
        self._are_folded[number, start] = bool(count)
        return bool(count)

    def _lookups(self, module: int, address: int) -> tuple[Lookup, ...]:
        """The function at a link-time address, and those that were merged into it."""
        reader = self._modules[module].reader
        found = None if reader is None else reader.lookup(address, merged=True)
        return () if found is None else (found, *found.merged)

    def _address(self, frame: ReportFrame) -> int:
        """The link-time address of a frame with calls, as the report has it."""
        return self._bases[frame.module] + (frame.offset or 0)

    def _called_by(self, at: int) -> tuple[str, ...]:
        """Patterns of the names of what the call before a return address calls."""
        frame = self._answers[at]
        if not (frame.calls and frame.is_return and self._may_call(frame.module)):
            return ()
        key = frame.module, self._address(frame)
        known = self._called.get(key)
        if known is None:
            without = self._without[frame.module]
            if without > _MOST_WITHOUT:
                return ()
            several = self._lookups(*key)
            name = frame.calls[-1].name
            of_name = (each for each in several if each.function.name == name)
            found = next(of_name, several[0] if several else None)
            known = () if found is None else found.call_site_patterns
            self._called[key] = known
            self._has_sites |= bool(known)
            # A conversion keeps the call sites of all functions, or none.
            self._without[frame.module] = 0 if known else without + 1
        return known

    def _chosen(self, frame: ReportFrame, called: tuple[str, ...]) -> ReportFrame:
        address = self._address(frame) - frame.is_return
        several = self._lookups(frame.module, address)
        chosen = [each for each in several if each.function.name in called] or [
            each
            for each in several
            if any(_fits(each.function.name, pattern) for pattern in called)
        ]
        if len(chosen) != 1:
            return frame._replace(folded=_one_of(chosen or several))
        calls = (
            each._replace(offset=each.offset + frame.is_return)
            for each in chosen[0].frames
        )
        return frame._replace(calls=tuple(calls))

    def _named(self, frame: ReportFrame, start: int, called: str) -> ReportFrame:
        """Name a function as its caller does, if both names have the same code.

        lld leaves symbols of the functions that it folds, but no debug information.
        """
        *inlined, own = frame.calls
        if start not in self._starts(frame.module, called):
            return frame
        other = demangle(own.name)
        if demangle(called) == other:
            return frame  # another name of the same function
        calls = (*inlined, own._replace(name=called))
        folded = f"lines of {other}, which has the same code"
        return frame._replace(calls=calls, folded=folded)

    def _starts(self, number: int, name: str) -> set[int]:
        """Starts of functions of a name, by the symbols in the files of a module."""
        module = self._modules[number]
        if number not in self._names and module.reader is not None:
            names = partial(FunctionNames, module.reader)
            self._names[number] = [*map(names, module.files())]
        tables = (names.in_table(name) for names in self._names.get(number, ()))
        return {each.start for each in chain.from_iterable(tables)}


def _fits(name: str, pattern: str) -> bool:
    """Whether a linkage name fits the regular expression of a call site."""
    try:
        return not pattern.isidentifier() and bool(re.search(pattern, name))
    except re.error:
        return False


def _one_of(several: Sequence[Lookup]) -> str:
    """Sentence about functions, of which some may only differ by their files."""
    names = dict.fromkeys(demangle(each.function.name) for each in several)
    if len(names) == 1:
        (name,) = names
        paths = dict.fromkeys(each.frames[-1].path for each in several)
        names = dict.fromkeys(f"{name} in {path}" for path in paths if path)
    if len(names) < 2:  # noqa: PLR2004 - one function with several names
        return ""
    more = len(names) - _MOST_NAMED
    shown = ", ".join([*names][:_MOST_NAMED])
    return f"{SEVERAL}{shown}" + (f" and {more} more" if more > 0 else "")
