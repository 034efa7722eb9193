"""A report -> the calls at its addresses, or the reason why there are none.

Opening modules may take long, so it is a separate step, as for API requests: gather,
open, answer. All addresses of a module are looked up together.
"""

from __future__ import annotations

from functools import partial
from itertools import chain, pairwise
from time import perf_counter

from gsym.errors import GsymError
from gsym.memory.stack_parts import (
    NO_FRAMES,
    NO_MODULE,
    ReadLine,
    StackFrame,
    parts_of,
)
from gsym.model import NO_FUNCTION, UINT64_MAX, Frame
from gsym.modules.key import NAME_ALONE, key_of_debug_id
from gsym.reports.judgement import settled
from gsym.reports.link_addresses import (
    CALL,
    CODE,
    MAY_BE_LINK,
    NO_NAMES,
    NOT_PLACED,
    LinkAddresses,
    Readings,
)
from gsym.reports.report import Report, ReportFrame, ReportModule, ReportThread
from gsym.reports.stacks.evidence import FORM
from gsym.reports.stacks.frames import FOLDED

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from gsym.containers.machine_code import MachineCode
    from gsym.memory.stack_parts import AlikeLines, ParsedReport, StackModule
    from gsym.modules.key import ModuleKey
    from gsym.modules.open_module import OpenModule
    from gsym.reading.reader import Reader
    from gsym.store.entries import Entry
    from gsym.store.listing import StoreListing
    from gsym.writing.source_part import SourceFiles

    _Calls = tuple[tuple[Frame, ...], int]

NO_PLACE = "not in a known module"
"""Why a frame is not looked up at all."""
LEFT_OUT = "left out: the answer would be too large"
_NO_CALLS: _Calls = ((), 0)
NO_ANSWER = ReportFrame("", NO_MODULE, 0)

_MOST_CALLS = 200  # inlined calls of one frame, the innermost
_MOST_TEXT = 16 << 20  # characters of all names and paths, and more for each frame
_TEXT_OF_FRAME = 256
_new = tuple.__new__
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
        self.frames: list[int] = []
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
        self._stacks = stack.stacks
        self._starts: set[tuple[int, int]] = set()  # of functions, by module
        self._callers: set[int] = set()  # modules with return addresses
        self._kept_parts: Sequence[str | StackFrame] = ()
        self._frames: list[StackFrame] = []
        self._named = self.modules  # all of the report
        asked = {part.module for part in stack.contents if type(part) is StackFrame}
        for alike in {each.alike for each in stack.contents if type(each) is ReadLine}:
            asked.update(alike.pattern.modules)
        self._asked = [self.modules[number] for number in asked - {NO_MODULE}]
        self._ask()

    def _ask(self) -> None:
        """Begin with all modules that a frame may be in."""
        self.modules = self._named
        self._starts.clear()
        self._callers.clear()
        for module in self._asked:
            module.is_asked = True

    def _take(self, parts: Sequence[str | StackFrame]) -> None:
        """Take the parts of the report, and list the frames of each module."""
        self._kept_parts = parts
        self._frames = [part for part in parts if type(part) is StackFrame]
        several: list[list[int]] = [[] for _ in (*self.modules, NO_MODULE)]
        for at, frame in enumerate(self._frames):
            several[frame.module].append(at)
        for module, frames in zip(self.modules, several, strict=False):
            module.frames = frames
            module.is_asked = bool(frames)

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
        """The report, when the modules are open.

        One whose GSYM file is damaged is missing, for this reason.

        Raises:
            GsymError: A file of no module is damaged.
        """
        report = None
        while report is None:
            report = self._answer()
        return report

    def _answer(self) -> Report | None:
        """The report; None if a module was refused, so that all begins anew."""
        try:
            return self._answer_all()
        except GsymError as error:
            for each in self._named:
                if each.module is not None and each.module.is_in(error):
                    each.module = each.module.refused(error)
                    self._ask()
                    return None
            raise

    def _answer_all(self) -> Report:
        self._settle()
        answers: list[ReportFrame] = [NO_ANSWER] * len(self._frames)
        notes = list(self._stack.notes)
        text_left = _MOST_TEXT + _TEXT_OF_FRAME * len(answers)
        corrections = (self._missed_returns, self._interrupted)
        for among in (None, *(corrections if self._is_return is None else ())):
            chosen = None if among is None else among(answers)
            for module in self.modules:
                if module.reader is not None and text_left > 0:
                    text_left = self._look_up(module, chosen, answers, text_left)
        self._choose_folded(answers)
        if text_left <= 0:
            notes.append("Some frames are left out: the answer would be too large.")
        form = self._stack.form
        if form == NO_FRAMES and answers:  # all were guesses, and some are right
            form = FORM
        return Report(
            form,
            self._stack.reason,
            self._threads(answers),
            tuple([module.answer() for module in self.modules]),
            tuple(notes),
            self._parts(),
            self._stack.is_verbatim,
        )

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

    def _choose_folded(self, answers: list[ReportFrame]) -> None:
        """Choose among functions with the same code, callers first."""
        if not any(each.calls for each in answers):
            return
        from gsym.reports.folded_functions import FoldedFunctions

        frames, order = self._frames, range(len(answers))
        if self._stack.form != FOLDED:
            order = order[::-1]
        several = ((at, frames[at].stack) for at in order)
        chosen = FoldedFunctions(self.modules, answers)
        chosen.choose(several, self._starts, self._callers)

    def _settle(self) -> None:
        """Choose what each frame is, and which are return addresses."""
        stack = self._stack
        kinds = _kinds(stack.contents)
        are_unclear = any(type(each) is ReadLine for each in stack.contents)
        for number, module in enumerate(self.modules):
            opened = module.module
            if opened is None or opened.reader is None or not module.is_asked:
                continue
            own = [*kinds.get(number, {}).values()]
            readings = Readings(are_unclear, own, partial(self._readings, number))
            names = opened.function_names()
            module.places = LinkAddresses(
                opened.reader, module.binaries, names, readings, module.code
            )
        if are_unclear:
            asked = [each for each in self.modules if each.is_asked]
            parts, stacks = settled(stack.contents, stack.headings, self.modules)
            self._stacks = tuple(stacks)
            self._take(parts)
            if not self._has_choices:
                self._leave_out([each for each in asked if not each.is_asked])
        else:
            self._take(
                [each for each in stack.contents if not isinstance(each, ReadLine)]
            )
        if self._is_return is None:
            self._judge_returns()
        else:
            known = self._is_return
            self._frames = [each._replace(is_return=known) for each in self._frames]

    def _readings(self, number: int) -> Iterator[StackFrame]:
        """Readings of frames in a module, in order."""
        for frame in parts_of(self._stack.contents):
            if not isinstance(frame, str):
                several = (frame, *frame.others)
                own = (each for each in several if each.module == number)
                yield from (each._replace(stack=frame.stack) for each in own)

    def _leave_out(self, unneeded: Sequence[ModuleOfReport]) -> None:
        """Leave out modules that nothing but wrong readings named."""
        wrong = [each for each in unneeded if not each.has_id]
        if not wrong:
            return
        kept = [each for each in self.modules if each not in wrong]
        number = {id(each): at for at, each in enumerate(kept)}
        new = [number.get(id(each), NO_MODULE) for each in (*self.modules, None)]
        self.modules = kept
        self._take(
            [
                part
                if isinstance(part, str) or part.module == new[part.module]
                else part._replace(module=new[part.module])
                for part in self._kept_parts
            ]
        )

    def _judge_returns(self) -> None:
        """Let the code tell which are return addresses, where it is at hand."""
        # A tool prints all addresses under a heading alike.
        several: dict[int, list[tuple[int, bool]]] = {}
        frames = self._frames
        unclear = {
            at for at, it in enumerate(frames) if it.may_be_exact or it.may_return
        }
        for number in {frames[at].module for at in unclear} - {NO_MODULE}:
            module = self.modules[number]
            asked = [at for at in module.frames if at in unclear]
            found = self._are_after_calls(module, asked)
            for at, ends in zip(asked, found, strict=True):
                if ends is not None:
                    several.setdefault(frames[at].heading, []).append((at, ends))
        exact = self._counters()
        for members in several.values():
            exact |= self._judge_stack(sorted(members))
        self._take_as_exact(exact)

    def _counters(self) -> set[int]:
        """Frames that the report says to be in a program counter."""
        known = self._stack.counters
        counters: dict[int, list[int]] = {}
        found: set[int] = set()
        for at, frame in enumerate(self._frames):
            if frame.is_counter:
                counters.setdefault(frame.heading, []).append(at)
            if known and frame[1:3] in known:
                found.add(at)
        # Of many in a stack, "pc" is what the tool calls all addresses.
        return found.union(*(each for each in counters.values() if len(each) == 1))

    def _judge_stack(self, members: Sequence[tuple[int, bool]]) -> set[int]:
        """Frames of a stack that are exact; those that are return addresses are set.

        Args:
            members: Frames whose code is at hand, and whether a call ends there.
        """
        frames = self._frames
        exact: set[int] = set()
        calls = sum(ends for _, ends in members)
        if calls == 0 and len(members) > 1:
            following = (self._may_call_end(frames[at]) for at, _ in members)
            if not any(following):  # else a tool has adjusted them
                return exact  # not the code of this stack
        are_returns = 2 * calls >= len(members) > 1
        for at, ends in members:
            frame = frames[at]
            # Where a stack begins, an address may be made without a call.
            is_first = at == members[-1][0] and len(members) > 1
            if frame.is_return and frame.may_be_exact and not (ends or is_first):
                exact.add(at)
            elif are_returns and ends and not frame.is_return and frame.may_return:
                frames[at] = _as_return(frame, is_return=True)
        return exact

    def _are_after_calls(
        self, module: ModuleOfReport, asked: Sequence[int]
    ) -> Iterable[bool | None]:
        """Whether a call ends at each of some frames; None for those without code."""
        places = module.places
        if places is None:
            return [None] * len(asked)
        addresses = places.addresses_in(map(self._frames.__getitem__, asked))
        found = places.places([each or 0 for each in addresses])
        return (
            None if address is None or not place & CODE else place & CALL > 0
            for address, place in zip(addresses, found, strict=True)
        )

    def _may_call_end(self, frame: StackFrame) -> bool:
        """Whether a call may end a byte after a frame whose code is known."""
        places = self.modules[frame.module].places
        address = None if places is None else places.address(frame)
        return (
            places is not None
            and address is not None
            and places.code.may_return(address + 1)
        )

    def _threads(self, answers: Sequence[ReportFrame]) -> tuple[ReportThread, ...]:
        frames: list[list[ReportFrame]] = [[] for _ in self._stacks]
        known: dict[ReportFrame, ReportFrame] = {}  # equal frames
        for frame, answer in zip(self._frames, answers, strict=True):
            if answer.offset is None:
                answer = self._unanswered(frame, answer.reason)  # noqa: PLW2901
                answer = known.setdefault(answer, answer)  # noqa: PLW2901
            frames[frame.stack].append(answer)
        return tuple(
            ReportThread(
                *(heading.name, heading.is_crashed, tuple(own)),
                *(heading.end, heading.left_out),
                *(dict(heading.registers), heading.instruction),
            )
            for heading, own in zip(self._stacks, frames, strict=True)
        )

    def _unanswered(self, frame: StackFrame, reason: str) -> ReportFrame:
        """The answer to a frame that nothing was found for."""
        if frame.module == NO_MODULE:
            reason = NO_PLACE if frame.symbol in NO_NAMES else ""
        else:
            reason = reason or self.modules[frame.module].missing
        return ReportFrame(*frame[:3], frame.symbol, reason=reason, trust=frame.trust)

    def _parts(self) -> tuple[str | tuple[int, int], ...]:
        seen = [0] * len(self._stacks)
        parts: list[str | tuple[int, int]] = []
        for part in self._kept_parts:
            if isinstance(part, str):
                parts.append(part)
            else:
                parts.append((part.stack, seen[part.stack]))
                seen[part.stack] += 1
        return tuple(parts)

    def _missed_returns(self, answers: Sequence[ReportFrame]) -> set[int]:
        """Frames whose return addresses have no call before them.

        Nobody calls the function that a signal handler returns to.
        """
        missed = {
            at
            for at, frame in enumerate(self._frames)
            if frame.is_return and not answers[at].calls
        }
        return self._take_as_exact(missed)

    def _interrupted(self, answers: Sequence[ReportFrame]) -> set[int]:
        """Frames that a signal interrupted: their addresses are no return addresses."""
        found = {
            at + 1
            for at, (frame, following) in enumerate(pairwise(self._frames))
            if frame.stack == following.stack
            and following.is_return
            and self._is_signal_return(frame, answers[at].calls)
        }
        return self._take_as_exact(found)

    def _is_signal_return(self, frame: StackFrame, calls: Sequence[Frame]) -> bool:
        if calls:
            return calls[-1].name in _SIGNAL_RETURNS
        places = (
            None if frame.module == NO_MODULE else self.modules[frame.module].places
        )
        return places is not None and places.is_signal_return(frame)

    def _take_as_exact(self, chosen: set[int]) -> set[int]:
        for at in chosen:
            self._frames[at] = _as_return(self._frames[at], is_return=False)
        return chosen

    def _look_up(
        self,
        module: ModuleOfReport,
        chosen: set[int] | None,
        answers: list[ReportFrame],
        text_left: int,
    ) -> int:
        reader, places = module.reader, module.places
        wanted: Sequence[int] = module.frames
        if chosen is not None:
            wanted = [at for at in wanted if at in chosen]
        if reader is None or places is None or not wanted:
            return text_left
        several: dict[tuple[Reader, bool], dict[int, int]] = {}  # addresses by frame
        frames = [self._frames[at] for at in wanted]
        for at, frame, found in zip(
            wanted, frames, places.addresses_in(frames), strict=True
        ):
            own, is_return, address = reader, frame.is_return, found
            if frame.symbol or found is None:
                address = places.link_address(frame)
                if address is None:
                    answers[at] = answers[at]._replace(reason=places.reason)
                    continue
                own = places.reader_of(frame, address)
            else:
                address = min(max(found - is_return, 0), UINT64_MAX)
            several.setdefault((own, is_return), {})[at] = address
        base = reader.header.base_address
        for (own, _), asked in several.items():
            text_left = self._answer_from(own, base, asked, answers, text_left)
        return text_left

    def _answer_from(
        self,
        reader: Reader,
        base: int,
        addresses: Mapping[int, int],
        answers: list[ReportFrame],
        text_left: int,
    ) -> int:
        """Answer frames whose link-time addresses are known; the text that is left.

        All are return addresses, or none is.
        """
        frames = self._frames
        first = frames[next(iter(addresses))]
        is_return, number = first.is_return, first.module
        asked = [*dict.fromkeys(addresses.values())]  # threads wait in one place
        several, starts = _calls_at(reader, asked, by=is_return)
        self._starts.update((number, each) for each in starts)
        self._callers |= {number} if is_return else set()
        are_distinct = len(asked) == len(addresses)
        calls_of = dict(zip(asked, several, strict=True))
        if not are_distinct:
            several = [*map(calls_of.__getitem__, addresses.values())]
        known: dict[tuple[object, ...], ReportFrame] = {}  # equal frames
        base -= is_return
        for (at, address), (calls, size) in zip(
            addresses.items(), several, strict=True
        ):
            frame = frames[at]
            text_left -= size
            if text_left <= 0 or not calls:
                reason = LEFT_OUT if text_left <= 0 else NO_FUNCTION
                if text_left > 0 and frame.base in MAY_BE_LINK:
                    reason += f"; if it is one of the process, {NOT_PLACED}"
                answers[at] = answers[at]._replace(reason=reason)
                continue
            text, number, own, _, _, symbol, _, trust = frame[:8]
            # There are many, so in the order of the fields.
            fields = text, number, own, symbol, calls, address - base, frame.doubt
            if are_distinct:
                answers[at] = _new(ReportFrame, (*fields, is_return, trust, (), ""))
                continue
            key = text, own, symbol, frame.doubt, trust
            answer = known.get(key)
            if answer is None:
                answer = _new(ReportFrame, (*fields, is_return, trust, (), ""))
                known[key] = answer
            answers[at] = answer
        return text_left


def _as_return(frame: StackFrame, *, is_return: bool) -> StackFrame:
    """Copy of a frame; there are many, so without the handling of arguments."""
    return _new(StackFrame, (*frame[:4], is_return, *frame[5:]))


def _kinds(
    contents: Sequence[str | StackFrame | ReadLine],
) -> dict[int, dict[object, tuple[StackFrame, list[int]]]]:
    """Readings of frames by module and all but the address: a frame, the addresses."""
    found: dict[int, dict[object, tuple[StackFrame, list[int]]]] = {}
    lines: dict[AlikeLines, None] = {}
    for part in contents:
        if type(part) is ReadLine:
            lines[part.alike] = None
        elif type(part) is StackFrame:
            of_module = found.setdefault(part.module, {})
            key = (*part[3:8], part.function_size) if part.symbol else part.base
            known = of_module.get(key)
            if known is None:
                known = of_module[key] = part, []
            known[1].append(part.address)
    for alike in lines:
        for at, reading in enumerate(chain.from_iterable(alike.pattern.readings)):
            of_module = found.setdefault(reading.frame.module, {})
            if reading.plus < 0:
                of_module[alike, at] = reading.frame, alike.addresses(reading)
                continue
            for frame in alike.frames(reading):
                _, several = of_module.setdefault((alike, at, frame.plus), (frame, []))
                several.append(frame.address)
    return found


def _calls_at(
    reader: Reader, asked: Sequence[int], *, by: bool
) -> tuple[list[_Calls], set[int]]:
    """Calls at addresses, with their characters; the starts of their functions.

    Args:
        reader: The file.
        asked: The addresses, each once.
        by: Bytes from there to the address where the instruction ends.
    """
    frames = reader.lookup_many(asked, misses=False)
    if (damage := frames.damage) is not None:
        raise damage
    tables = frames.tables
    inlined, offsets = frames.inlined.tolist(), frames.offset.tolist()
    names = [*map(tables.strings.__getitem__, frames.name)]
    paths = [*map(tables.files.__getitem__, frames.path)]
    folders, files = [each[0] for each in paths], [each[1] for each in paths]
    shown = [each + 1 for each in offsets] if by else offsets
    rows = zip(names, folders, files, frames.line, shown, inlined, strict=True)
    calls = [_new(Frame, each) for each in rows]
    sizes = [
        len(name) + len(folder) + len(file)
        for name, folder, file in zip(names, folders, files, strict=True)
    ]
    found, starts = [_NO_CALLS] * len(asked), set[int]()
    numbers, begin = frames.address_index, 0
    for end, is_inlined in enumerate(inlined):
        if is_inlined:
            continue
        number = numbers[end]
        starts.add(asked[number] - offsets[end])
        if begin == end:
            found[number] = (calls[end],), sizes[end]
        else:
            last = min(end, begin + _MOST_CALLS)
            own = (*calls[begin:last], calls[end])
            found[number] = own, sum(sizes[begin:last]) + sizes[end]
        begin = end + 1
    return found, starts
