"""A report -> the calls at its addresses, or the reason why there are none.

Opening modules may take long, so it is a separate step, as for API requests: gather,
open, answer. All addresses of a module are looked up together.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections import Counter
from functools import partial
from itertools import accumulate, chain, compress
from time import perf_counter

from gsym.errors import GsymError
from gsym.memory.stack_parts import (
    FOLDED,
    NO_FRAMES,
    NO_MODULE,
    PROFILE,
    ordered,
    taken,
)
from gsym.model import NO_FUNCTION
from gsym.modules.key import NAME_ALONE, key_of_debug_id
from gsym.reports.answers import Answers, ThreadFrames
from gsym.reports.judgement import Frames, Judge
from gsym.reports.link_addresses import (
    CALL,
    CODE,
    MAY_BE_LINK,
    NO_LINK,
    NO_NAMES,
    NOT_PLACED,
    LinkAddresses,
    Readings,
)
from gsym.reports.report import Report, ReportModule, ReportThread
from gsym.reports.stacks.evidence import FORM

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from gsym.containers.machine_code import MachineCode
    from gsym.memory.stack_parts import (
        AlikeLines,
        ParsedReport,
        StackFrame,
        StackHeading,
        StackModule,
    )
    from gsym.modules.key import ModuleKey
    from gsym.modules.open_module import OpenModule
    from gsym.reading.reader import Reader
    from gsym.store.entries import Entry
    from gsym.store.listing import StoreListing
    from gsym.writing.source_part import SourceFiles

NO_PLACE = "not in a known module"
"""Why a frame is not looked up at all."""
LEFT_OUT = "left out: the answer would be too large"

_MOST_TEXT = 16 << 20  # characters of all names and paths, and more for each frame
_TEXT_OF_FRAME = 256
_APART = 2  # in the place of whether a frame is a return address
# Where the handler of a signal returns to.
_SIGNAL_RETURNS = frozenset(
    {
        *("__restore_rt", "__restore", "_sigtramp", "runtime.sigpanic"),
        *("__default_sa_restorer", "__default_rt_sa_restorer"),
        *("__kernel_rt_sigreturn", "__kernel_sigreturn"),
    }
)


class ModuleOfReport:
    """A module of a report, and its frames.

    Attributes:
        is_asked: Whether a frame may be in it.
        frames: Indexes of its frames, when it is known what these are.
        candidates: Without an id: the modules of its name in the store.
        key: The key to open it by; None if unknown, or not needed.
        module: The result of opening it; None before that, and without a key.
        unsure: Why it may be of another build, beyond what *module* says; "" for
            nothing.
        seconds: The time that opening took.
        reason: Why it is not opened.
        places: Its link-time addresses, while the report is answered.
    """

    _code: MachineCode | None = None

    def __init__(self, named: StackModule, chosen: str = "") -> None:
        self.named = named
        self.chosen = chosen
        self.is_asked: bool = False
        self.frames: array[int] = array("I")
        self.candidates: list[Entry] = []
        self.key: ModuleKey | None = None
        self.module: OpenModule | None = None
        self.unsure: str = ""
        self.seconds: float = 0.0
        self.reason: str = named.problem
        self.places: LinkAddresses | None = None

    @property
    def has_id(self) -> bool:
        """Whether the report has an id of it."""
        return self.named.has_id

    @property
    def reader(self) -> Reader | None:
        """The GSYM file of the module, if it was found."""
        return self.module.reader if self.module is not None else None

    @property
    def base(self) -> int:
        """The link-time address of its start; 0 without symbols."""
        return self.reader.header.base_address if self.reader is not None else 0

    @property
    def code(self) -> MachineCode:
        """Machine code, as far as a file at hand has it."""
        if self._code is None:
            from gsym.containers.machine_code import MachineCode
            from gsym.conversion.identity import read_first

            self._code = read_first(self.files(), None, MachineCode) or MachineCode()
        return self._code

    @property
    def binary(self) -> str:
        """Path of the file that was opened; "" if unknown."""
        return "" if self.module is None else self.module.path

    def files(self) -> Iterable[str]:
        """The paths of its files, which may have its code."""
        find = None if self.module is None else self.module.find_files
        return () if find is None else find()

    def binaries(self) -> Iterator[str]:
        """Paths of files that may have its segments; a GSYM file has none."""
        if self.binary:
            yield self.binary
        yield from self.files()

    @property
    def missing(self) -> str:
        """Reason why there are no symbols of it; "" if there are."""
        if self.reader is not None:
            return ""
        reason = self.module.reason if self.module is not None else self.reason
        return f"no symbols of {self.named.name}: {reason}"

    def identify(self, listing: StoreListing, same: StackModule | None) -> None:
        """Find the key to open it by.

        Raises:
            GsymError: The store cannot be used.
            OSError: It cannot be read.
        """
        if not self.is_asked or self.reason:
            return
        if self.has_id:
            self.key = self.named.key
            return
        if same is not None and not self.chosen:
            self.key = same.key
            return
        self.candidates = listing.named(self.named.name)
        debug_ids = [entry.identity.debug_id for entry in self.candidates]
        if self.chosen in debug_ids:
            self.key = key_of_debug_id(self.named.name, self.chosen)
        elif debug_ids:
            self.key = key_of_debug_id(self.named.name, debug_ids[0])
            self.unsure = NAME_ALONE
        else:
            self.reason = (
                "the report has no id for it, and no module of its name is known"
            )

    def answer(self) -> ReportModule:
        """The result."""
        known = self.named.key
        answer = ReportModule(self.named.name, known.debug_id, known.code_id)
        if not self.is_asked:
            return answer
        if self.module is not None:
            answer = answer._replace(attempts=self.module.attempts)
            if self.module.entry is not None:
                identity = self.module.entry.identity
                answer = answer._replace(
                    debug_id=identity.debug_id, code_id=identity.code_id
                )
        if self.reader is None:
            reason = self.module.reason if self.module is not None else self.reason
            return answer._replace(state="missing", reason=reason)
        is_stored = self.module is not None and self.module.entry is not None
        path = ("" if is_stored else self.binary) or self.reader.path or ""
        unsure = self.unsure or (self.module.unsure if self.module is not None else "")
        return answer._replace(state="found", path=path, unsure=unsure)


class ReportWork:
    """The work for one report.

    Args:
        stack: The parsed report.
        choices: Debug ids that the user chose, by index of the module; all modules
            then keep their indexes.
        is_return: Whether all addresses are return addresses; None: as it looks.

    Attributes:
        modules: The modules in the order of the report.
    """

    def __init__(
        self,
        stack: ParsedReport,
        choices: Mapping[int, str] | None = None,
        *,
        is_return: bool | None = None,
    ) -> None:
        self._stack = stack
        self._is_return = is_return
        self._has_choices = choices is not None
        self.modules: list[ModuleOfReport] = [
            ModuleOfReport(module, (choices or {}).get(at, ""))
            for at, module in enumerate(stack.modules)
        ]
        self._with_ids: dict[str, list[StackModule]] = {}  # by name
        for named in stack.modules:
            if named.has_id and not named.problem:
                self._with_ids.setdefault(named.name, []).append(named)
        self._stacks: Sequence[StackHeading] = ()
        self._starts: dict[int, set[int]] = {}  # of functions, by module
        self._callers: set[int] = set()  # modules with return addresses
        self._frames = Frames(stack.lines)
        self._answers = Answers(self._frames)
        self._text_left = 0
        self._named = self.modules  # all of the report
        self._lines = stack.lines.alike()
        asked = {number for each in self._lines for number in each.pattern.modules}
        self._asked = [self.modules[number] for number in asked]
        self._ask()

    def _ask(self) -> None:
        """Begin with all modules that a frame may be in."""
        self.modules = self._named
        self._starts.clear()
        self._callers.clear()
        for module in self._asked:
            module.is_asked = True

    def _list_frames(self) -> None:
        """List the frames of each module."""
        count = len(self.modules) + 1
        of_kind = [each.module % count for each in self._frames.known]  # none: last
        numbers = array("I", map(of_kind.__getitem__, self._frames.kinds))
        order, counts, end = ordered(numbers), Counter(numbers), 0
        for number, module in enumerate(self.modules):
            begin, end = end, end + counts[number]
            module.frames = order[begin:end]
            module.is_asked = begin < end

    def same_as(self, module: StackModule) -> StackModule | None:
        """The module of the same name, if the report has an id of it elsewhere.

        Two that are in different folders are two modules, and all in memory are.
        """
        if module.compare_code is not None:
            return None
        for named in self._with_ids.get(module.name, ()):
            has_folders = "/" in named.path and "/" in module.path
            if not has_folders or named.path == module.path:
                return named
        return None

    def identify(self, listing: StoreListing) -> None:
        """Find the keys to open the modules by.

        Raises:
            GsymError: The store cannot be used.
            OSError: It cannot be read.
        """
        for module in self.modules:
            module.identify(listing, self.same_as(module.named))

    def open_by(self, find: Callable[[StackModule], OpenModule]) -> None:
        """Open the modules that have frames, each by what *find* returns."""
        for module in self.modules:
            if module.is_asked and not module.reason:
                started = perf_counter()
                named = module.named
                if not module.has_id:
                    named = self.same_as(named) or named
                module.module = find(named)
                module.seconds = perf_counter() - started

    def answer(self) -> Report:
        """The report, when the modules are open; its frames are columns.

        One whose GSYM file is damaged is missing, for this reason.

        Raises:
            GsymError: A file of no module is damaged.
        """
        while not self._is_answered():
            self._ask()
        notes = list(self._stack.notes)
        if self._text_left <= 0:
            notes.append("Some frames are left out: the answer would be too large.")
        form = self._stack.form
        if form == NO_FRAMES and self._answers:  # all were guesses, and some are right
            form = FORM
        report = Report(
            form,
            self._stack.reason,
            self._threads(),
            tuple([module.answer() for module in self.modules]),
            tuple(notes),
            () if self._answers else tuple(self._frames.parts()),
            self._stack.is_verbatim,
        )
        return report.with_records() if form in {PROFILE, FOLDED} else report

    def _is_answered(self) -> bool:
        """Find the answers; false if a module was refused, so that all begins anew."""
        try:
            self._settle()
            self._answers = answers = Answers(self._frames)
            self._text_left = _MOST_TEXT + _TEXT_OF_FRAME * len(answers)
            corrections = (self._missed_returns, self._interrupted)
            for find in (None, *(corrections if self._is_return is None else ())):
                chosen = None if find is None else find()
                for module in self.modules:
                    if module.reader is not None and self._text_left > 0:
                        self._look_up(module, chosen)
            self._choose_folded()
        except GsymError as error:
            for each in self._named:
                if each.module is not None and each.module.is_in(error):
                    each.module = each.module.refused(error)
                    return False
            raise
        self._give_reasons()
        return True

    def sources(self, module: int, *, reads_binaries: bool = True) -> SourceFiles:
        """The source files that the module with this index has with it.

        Args:
            module: The index.
            reads_binaries: Whether its binaries may be read, not only its GSYM file.
        """
        from gsym.modules.source_files import sources_of_module

        found = self.modules[module]
        return sources_of_module(
            found.reader, found.binaries() if reads_binaries else ()
        )

    def _choose_folded(self) -> None:
        """Choose among functions with the same code, callers first."""
        if not self._starts:
            return
        from gsym.reports.folded_functions import FoldedFunctions

        order = range(len(self._answers))
        if self._stack.form != FOLDED:
            order = order[::-1]
        chosen = FoldedFunctions(self.modules, self._answers)
        chosen.choose(order, self._starts, self._callers)

    def _settle(self) -> None:
        """Choose what each frame is, and which are return addresses."""
        stack = self._stack
        kinds = _kinds(self._lines)
        are_unclear = any(not each.pattern.is_certain for each in self._lines)
        for number, module in enumerate(self.modules):
            module.places = None
            opened = module.module
            if opened is None or opened.reader is None or not module.is_asked:
                continue
            of_module = partial(self._readings, number)
            readings = Readings(are_unclear, kinds.get(number, ()), of_module)
            names = opened.function_names()
            module.places = LinkAddresses(
                opened.reader, module.binaries, names, readings, module.code
            )
        asked = [each for each in self.modules if each.is_asked]
        judge = Judge(self.modules, stack.lines)
        for alike in self._lines:
            judge.add(alike)
        self._frames = judge.frames
        self._stacks = self._frames.settle(stack.headings)
        self._list_frames()
        if are_unclear and not self._has_choices:
            self._leave_out([each for each in asked if not each.is_asked])
        frames, is_return = self._frames, self._is_return
        are_returns = [
            each.is_return if is_return is None else is_return for each in frames.known
        ]
        frames.returns = array("B", map(are_returns.__getitem__, frames.kinds))
        if is_return is None:
            self._judge_returns()

    def _readings(self, number: int) -> Iterator[StackFrame]:
        """Readings of frames in a module, in order."""
        for frame in self._stack.parts:
            if not isinstance(frame, str):
                readings = (frame, *frame.others)
                of_module = (each for each in readings if each.module == number)
                yield from (each._replace(stack=frame.stack) for each in of_module)

    def _leave_out(self, unneeded: Sequence[ModuleOfReport]) -> None:
        """Leave out modules that nothing but wrong readings named."""
        wrong = {id(each) for each in unneeded if not each.has_id}
        if not wrong:
            return
        kept = [each for each in self.modules if id(each) not in wrong]
        number = {id(each): at for at, each in enumerate(kept)}
        new = [number.get(id(each), NO_MODULE) for each in (*self.modules, None)]
        self.modules = kept
        known = self._frames.known
        known[:] = [each._replace(module=new[each.module]) for each in known]

    def _judge_returns(self) -> None:
        """Let the code tell which are return addresses, where it is at hand."""
        frames = self._frames
        are_unclear = [each.may_be_exact or each.may_return for each in frames.known]
        # A tool prints all addresses under a heading alike.
        stacks: dict[int, list[int]] = {}
        headings = map(frames.lines.headings.__getitem__, frames.numbers)
        columns = zip(frames.kinds, headings, frames.places, strict=True)
        has_code = any(each & CODE for each in {*frames.places})
        for at, (kind, heading, place) in enumerate(columns if has_code else ()):
            if place & CODE and are_unclear[kind]:
                stacks.setdefault(heading, []).append(at)
        exact = self._counters()
        for members in stacks.values():
            exact |= self._judge_stack(members)
        self._take_as_exact(exact)

    def _counters(self) -> set[int]:
        """Frames that the report says to be in a program counter."""
        frames, found = self._frames, set[int]()
        are_counters = [each.is_counter for each in frames.known]
        if True in are_counters:
            counters: dict[int, list[int]] = {}
            for at, kind in enumerate(frames.kinds):
                if are_counters[kind]:
                    heading = frames.lines.headings[frames.numbers[at]]
                    counters.setdefault(heading, []).append(at)
            # Of many in a stack, "pc" is what the tool calls all addresses.
            found.update(each[0] for each in counters.values() if len(each) == 1)
        if known := self._stack.counters:
            modules = [each.module for each in frames.known]
            columns = zip(frames.kinds, frames.addresses, strict=True)
            found.update(
                at
                for at, (kind, address) in enumerate(columns)
                if (modules[kind], address) in known
            )
        return found

    def _judge_stack(self, members: Sequence[int]) -> set[int]:
        """Frames of a stack that are exact; those that are return addresses are set.

        Args:
            members: Frames whose code is at hand, in order.
        """
        frames, kinds, returns = self._frames, self._frames.kinds, self._frames.returns
        after_calls = {at for at in members if frames.places[at] & CALL}
        is_other = not after_calls and len(members) > 1  # or a tool has adjusted them
        if is_other and not any(map(self._may_call_end, members)):
            return set()  # not the code of this stack
        are_returns = 2 * len(after_calls) >= len(members) > 1
        may_be_exact = [each.may_be_exact for each in frames.known]
        may_return = [each.may_return for each in frames.known]
        # Where a stack begins, an address may be made without a call.
        is_last = frames.stacks[members[0]] in frames.descending
        outermost = members[is_last - 1] if len(members) > 1 else -1
        exact = {
            at
            for at in members
            if returns[at]
            and may_be_exact[kinds[at]]
            and at != outermost
            and at not in after_calls
        }
        for at in after_calls if are_returns else ():
            returns[at] |= may_return[kinds[at]]
        return exact

    def _may_call_end(self, at: int) -> bool:
        """Whether a call may end a byte after a frame whose code is known."""
        frames = self._frames
        module = self.modules[frames.known[frames.kinds[at]].module]
        return module.code.may_return(frames.links[at] + 1)

    def _threads(self) -> tuple[ReportThread, ...]:
        stacks, numbers = self._frames.stacks, range(len(self._stacks))
        ends = [bisect_right(stacks, number) for number in numbers]
        spans = [range(*each) for each in zip([0, *ends], ends, strict=False)]
        for stack in self._frames.descending:
            spans[stack] = spans[stack][::-1]
        return tuple(
            ReportThread(
                *(heading.name, heading.is_crashed),
                ThreadFrames(self._answers, span),
                *(heading.end, heading.left_out),
                *(dict(heading.registers), heading.instruction),
            )
            for heading, span in zip(self._stacks, spans, strict=True)
        )

    def _give_reasons(self) -> None:
        """Say why frames have no calls."""
        frames, reasons = self._frames, self._answers.reasons
        for at in self._answers.missing():
            frame = frames.known[frames.kinds[at]]
            if frame.module == NO_MODULE:
                reasons[at] = NO_PLACE if frame.symbol in NO_NAMES else ""
            elif at not in reasons:
                reasons[at] = self.modules[frame.module].missing

    def _missed_returns(self) -> set[int]:
        """Frames whose return addresses have no call before them.

        Nobody calls the function that a signal handler returns to.
        """
        missed = {at for at in self._answers.missing() if self._frames.returns[at]}
        return self._take_as_exact(missed)

    def _interrupted(self) -> set[int]:
        """Frames that a signal interrupted: their addresses are no return addresses."""
        stacks, returns = self._frames.stacks, self._frames.returns
        signals = self._answers.of_functions(_SIGNAL_RETURNS)
        descending = self._frames.descending
        callers = (
            (at, at - 1 if stacks[at] in descending else at + 1)
            for at in chain(signals, self._answers.missing())
        )
        found = {
            caller
            for at, caller in callers
            if 0 <= caller < len(stacks)
            and returns[caller]
            and stacks[at] == stacks[caller]
            and self._is_signal_return(at)
        }
        return self._take_as_exact(found)

    def _is_signal_return(self, at: int) -> bool:
        if name := self._answers.function(at):
            return name in _SIGNAL_RETURNS
        frames, link = self._frames, self._frames.links[at]
        if link == NO_LINK:
            return False
        places = self.modules[frames.known[frames.kinds[at]].module].places
        return places is not None and places.is_signal_return(link)

    def _take_as_exact(self, chosen: set[int]) -> set[int]:
        for at in chosen:
            self._frames.returns[at] = False
        return chosen

    def _look_up(self, module: ModuleOfReport, chosen: set[int] | None) -> None:
        frames, wanted = self._frames, module.frames
        if chosen is not None:
            wanted = array("I", [at for at in wanted if at in chosen])
        if module.reader is None or module.places is None or not wanted:
            return
        number = frames.known[frames.kinds[wanted[0]]].module
        returns = taken(frames.returns, wanted)
        for (reader, by), asked in self._apart(module, wanted, returns).items():
            self._answer_from(reader, number, *asked, by=by)
        for by in {*returns} - {_APART}:
            some = array("I", compress(wanted, map(by.__eq__, returns)))
            links = taken(frames.links, some)
            self._answer_from(module.reader, number, some, links, by=by)

    def _apart(
        self, module: ModuleOfReport, wanted: array[int], returns: array[int]
    ) -> dict[tuple[Reader, int], tuple[list[int], list[int]]]:
        """Frames whose function decides who answers, and their link-time addresses.

        Args:
            module: Their module.
            wanted: The frames that are asked.
            returns: Which are return addresses. Those found here are marked.
        """
        frames, places = self._frames, module.places
        links, kinds = taken(frames.links, wanted), taken(frames.kinds, wanted)
        named = {each for each in {*kinds} if _names_place(frames.known[each])}
        by_reader: dict[tuple[Reader, int], tuple[list[int], list[int]]] = {}
        if places is None or (NO_LINK not in links and not named):
            return by_reader
        columns = zip(wanted, links, kinds, strict=True)
        for row, (at, link, kind) in enumerate(columns):
            if link == NO_LINK or kind in named:
                frame, returns[row] = frames.at(at), _APART
                address = places.link_address(frame)
                if address is None:
                    self._answers.reasons[at] = places.reason
                    continue
                of_reader = places.reader_of(frame, address), int(frame.is_return)
                numbers, asked = by_reader.setdefault(of_reader, ([], []))
                numbers.append(at)
                asked.append(address + frame.is_return)
        return by_reader

    def _answer_from(
        self,
        reader: Reader,
        number: int,
        asked: Sequence[int],
        links: Sequence[int],
        *,
        by: int,
    ) -> None:
        """Answer frames of a module whose link-time addresses are known."""
        answers, reasons = self._answers, self._answers.reasons
        if by:
            self._callers.add(number)
        distinct = dict.fromkeys(links)  # threads wait in one place
        base = self.modules[number].base
        found, starts = answers.look_up(reader, distinct, base, by=by)
        self._starts.setdefault(number, set()).update(starts)
        number_of = dict(zip(distinct, found, strict=True))
        numbers = [*map(number_of.__getitem__, links)]
        sizes = [*accumulate(map(answers.sizes.__getitem__, numbers))]
        kept = bisect_left(sizes, self._text_left)
        self._text_left -= sizes[-1]
        reasons.update(dict.fromkeys(asked[kept:], LEFT_OUT))
        for at, answer in zip(asked[:kept], numbers, strict=False):
            if answer:
                answers.numbers[at] = answer
                if reasons:
                    reasons.pop(at, None)
                continue
            reasons[at] = NO_FUNCTION
            if self._frames.known[self._frames.kinds[at]].base in MAY_BE_LINK:
                reasons[at] += f"; if it is one of the process, {NOT_PLACED}"


def _names_place(frame: StackFrame) -> bool:
    """Whether the name of a function may tell where a frame is."""
    is_placed = frame.base != "symbol" and (
        frame.plus is None or frame.base not in MAY_BE_LINK
    )
    return bool(frame.symbol) and not is_placed


def _kinds(
    lines: Iterable[AlikeLines],
) -> dict[int, list[tuple[StackFrame, Sequence[int]]]]:
    """Readings of frames by module: for all but the address a frame, the addresses."""
    found: dict[int, list[tuple[StackFrame, Sequence[int]]]] = {}
    for alike in lines:
        for reading in chain.from_iterable(alike.pattern.readings):
            kinds = found.setdefault(reading.frame.module, [])
            frames, numbers = alike.kinds(reading)
            of_kind: list[list[int]] = [[] for _ in frames]
            for number, address in zip(numbers, alike.addresses(reading), strict=True):
                of_kind[number].append(address)
            kinds += zip(frames, of_kind, strict=True)
    return found
