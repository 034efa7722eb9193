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
from gsym.errors import listed
from gsym.modules.function_names import FunctionNames
from gsym.reports.report import SEVERAL

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from gsym.model import Lookup
    from gsym.reports.answers import Answers
    from gsym.reports.report_work import ModuleOfReport

_MOST_NAMED = 4
_MOST_WITHOUT = 64  # callers in a row without a call site: their module has none


class FoldedFunctions:
    """Chooses the functions of frames by the call sites of their callers.

    Args:
        modules: The modules of the report, opened.
        answers: Its frames with their calls, which are replaced by those chosen.
    """

    def __init__(self, modules: Sequence[ModuleOfReport], answers: Answers) -> None:
        self._modules = modules
        self._answers, self._frames = answers, answers.frames
        self._are_folded: dict[tuple[int, int], bool] = {}  # by module and start
        self._called: dict[tuple[int, int], tuple[str, ...]] = {}  # by return address
        self._without = [0] * len(modules)
        self._has_sites = False
        self._names: dict[int, list[FunctionNames]] = {}  # by module

    def choose(
        self,
        order: Iterable[int],
        starts: Mapping[int, Iterable[int]],
        callers: Collection[int],
    ) -> None:
        """Choose the functions of frames, callers first.

        Args:
            order: The frames.
            starts: By module the starts of their functions.
            callers: Modules with return addresses.
        """
        has_folded = any(
            self._is_folded(module, start)
            for module, addresses in starts.items()
            for start in addresses
        )
        answers, stacks = self._answers, self._frames.stacks
        names, _, _, offsets, _ = answers.rows
        caller = -1
        for at in order:
            if not (has_folded or any(map(self._may_call, callers))):
                return  # as in most reports
            if number := answers.numbers[at]:
                is_called = caller >= 0 and stacks[at] == stacks[caller]
                called = self._called_by(caller) if is_called else ()
                row = answers.ends[number] - 1
                if not called or called != (names[row],):
                    module, address = self._place(at)
                    start = address - offsets[row]
                    is_folded = self._are_folded.get((module, start))
                    if is_folded is None:
                        is_folded = self._is_folded(module, start)
                    if is_folded:
                        self._choose(at, called)
                    elif len(called) == 1 and called[0] != names[row]:
                        self._name(at, start, called[0])
            caller = at

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

    def _place(self, at: int) -> tuple[int, int]:
        """Module and link-time address of a frame with calls, as the report has it."""
        frames = self._frames
        module = frames.known[frames.kinds[at]].module
        offset = self._answers.offsets[self._answers.numbers[at]]
        return module, self._modules[module].base + offset

    def _called_by(self, at: int) -> tuple[str, ...]:
        """Patterns of the names of what the call before a return address calls."""
        if not (self._answers.numbers[at] and self._frames.returns[at]):
            return ()
        module, address = self._place(at)
        if not self._may_call(module):
            return ()
        known = self._called.get((module, address))
        if known is None:
            without = self._without[module]
            if without > _MOST_WITHOUT:
                return ()
            lookups = self._lookups(module, address)
            name = self._answers.function(at)
            of_name = (each for each in lookups if each.function.name == name)
            found = next(of_name, lookups[0] if lookups else None)
            known = () if found is None else found.call_site_patterns
            self._called[module, address] = known
            self._has_sites |= bool(known)
            # A conversion keeps the call sites of all functions, or none.
            self._without[module] = 0 if known else without + 1
        return known

    def _choose(self, at: int, called: tuple[str, ...]) -> None:
        module, address = self._place(at)
        is_return = self._frames.returns[at]
        lookups = self._lookups(module, address - is_return)
        chosen = [each for each in lookups if each.function.name in called] or [
            each
            for each in lookups
            if any(_fits(each.function.name, pattern) for pattern in called)
        ]
        if len(chosen) != 1:
            self._answers.folded[at] = _one_of(chosen or lookups)
            return
        calls = chosen[0].frames
        self._answers.replace(
            at, (each._replace(offset=each.offset + is_return) for each in calls)
        )

    def _name(self, at: int, start: int, called: str) -> None:
        """Name a function as its caller does, if both names have the same code.

        lld leaves symbols of the functions that it folds, but no debug information.
        """
        name = self._answers.function(at)
        if start not in self._starts(self._place(at)[0], called):
            return
        other = demangle(name)
        if demangle(called) == other:
            return  # another name of the same function
        *inlined, outermost = self._answers[at].calls
        self._answers.replace(at, (*inlined, outermost._replace(name=called)))
        self._answers.folded[at] = f"lines of {other}, which has the same code"

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


def _one_of(lookups: Sequence[Lookup]) -> str:
    """Sentence about functions, of which some may only differ by their files."""
    names = dict.fromkeys(demangle(each.function.name) for each in lookups)
    if len(names) == 1:
        (name,) = names
        paths = dict.fromkeys(each.frames[-1].path for each in lookups)
        names = dict.fromkeys(f"{name} in {path}" for path in paths if path)
    if len(names) < 2:  # noqa: PLR2004 - one function with several names
        return ""
    return SEVERAL + listed([*names], _MOST_NAMED)
