"""A report -> the calls at its addresses, or the reason why there are none.

Opening modules may take long, so it is a separate step, as for API requests: gather,
open, answer. All addresses of a module are looked up together.
"""

from __future__ import annotations

from itertools import pairwise
from time import perf_counter

from gsym.memory.stack_parts import (
    NO_FRAMES,
    NO_MODULE,
    StackFrame,
    with_stacks,
)
from gsym.model import NO_FUNCTION, Frame
from gsym.modules.key import NAME_ALONE, key_of_debug_id
from gsym.reports.judgement import Judge
from gsym.reports.link_addresses import (
    MAY_BE_LINK,
    NO_NAMES,
    NOT_PLACED,
    LinkAddresses,
)
from gsym.reports.report import Report, ReportFrame, ReportModule, ReportThread
from gsym.reports.stacks.evidence import FORM
from gsym.reports.stacks.frames import FOLDED

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from gsym.containers.machine_code import MachineCode
    from gsym.memory.stack_parts import ParsedReport, StackModule
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
        frames: Indexes of its frames.
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
        if not self.frames or self.reason:
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
        if not self.frames:
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
        self._take(stack.parts)

    def _take(self, parts: Iterable[str | StackFrame]) -> None:
        """Take the parts of the report, and list the frames of each module."""
        self._kept_parts = tuple(parts)
        self._frames = [
            part for part in self._kept_parts if isinstance(part, StackFrame)
        ]
        for module in self.modules:
            module.frames = []
        for at, frame in enumerate(self._frames):
            number, others = frame.module, frame.others
            if number != NO_MODULE:
                self.modules[number].frames.append(at)
            if others:
                for other in {each.module for each in others} - {number, NO_MODULE}:
                    self.modules[other].frames.append(at)

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
            if module.frames and not module.reason:
                started = perf_counter()
                named = module.named
                if not module.has_id:
                    named = self.same_as(named) or named
                module.module = find(named)
                module.seconds = perf_counter() - started

    def answer(self) -> Report:
        """The report, when the modules are open.

        Raises:
            GsymError: A file is damaged.
        """
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
        for number, module in enumerate(self.modules):
            opened = module.module
            if opened is None or opened.reader is None or not module.frames:
                continue
            frames = [self._frames[at] for at in module.frames]
            options = [
                each._replace(stack=frame.stack) if each.stack != frame.stack else each
                for frame in frames
                for each in (frame, *frame.others)
                if each.module == number
            ]
            names = opened.function_names()
            module.places = LinkAddresses(
                opened.reader, module.binaries, names, options, module.code
            )
        if any(each.line >= 0 for each in self._frames):
            asked = [each for each in self.modules if each.frames]
            settled = Judge(self.modules).settle(self._kept_parts)
            parts, self._stacks = with_stacks(settled, self._stack.headings)
            self._take(parts)
            if not self._has_choices:
                self._leave_out([each for each in asked if not each.frames])
        if self._is_return is None:
            self._judge_returns()
        else:
            known = self._is_return
            self._frames = [each._replace(is_return=known) for each in self._frames]

    def _leave_out(self, unneeded: Sequence[ModuleOfReport]) -> None:
        """Leave out modules that nothing but wrong readings named."""
        wrong = [each for each in unneeded if not each.has_id]
        if not wrong:
            return
        kept = [each for each in self.modules if each not in wrong]
        number = {id(each): at for at, each in enumerate(kept)}
        new = {at: number.get(id(each), -1) for at, each in enumerate(self.modules)}
        self.modules = kept
        self._take(
            part
            if isinstance(part, str)
            else part._replace(module=new.get(part.module, NO_MODULE))
            for part in self._kept_parts
        )

    def _judge_returns(self) -> None:
        """Let the code tell which are return addresses, where it is at hand."""
        # A tool prints all addresses under a heading alike.
        several: dict[int, list[tuple[int, bool]]] = {}
        counters: dict[int, list[int]] = {}
        for at, frame in enumerate(self._frames):
            if frame.is_counter:
                counters.setdefault(frame.heading, []).append(at)
            ends = self._is_after_call(frame, 0)
            if ends is not None:
                several.setdefault(frame.heading, []).append((at, ends))
        known = self._stack.counters
        exact = {at for at, it in enumerate(self._frames) if it[1:3] in known}
        for members in several.values():
            calls = sum(ends for _, ends in members)
            if calls == 0 and len(members) > 1:
                following = (
                    self._is_after_call(self._frames[at], 1) for at, _ in members
                )
                if not any(following):  # else a tool has adjusted them
                    continue  # not the code of this stack
            are_returns = 2 * calls >= len(members) > 1
            for at, ends in members:
                frame = self._frames[at]
                # Where a stack begins, an address may be made without a call.
                is_first = at == members[-1][0] and len(members) > 1
                if frame.is_return and frame.may_be_exact and not (ends or is_first):
                    exact.add(at)
                elif frame.may_return and are_returns and ends:
                    self._frames[at] = frame._replace(is_return=True)
        # Of many in a stack, "pc" is what the tool calls all addresses.
        exact.update(*(each for each in counters.values() if len(each) == 1))
        self._take_as_exact(exact)

    def _is_after_call(self, frame: StackFrame, by: int) -> bool | None:
        """Whether a call ends *by* bytes after a frame; None if it tells nothing."""
        if not (frame.may_return or frame.may_be_exact) or frame.module == NO_MODULE:
            return None
        places = self.modules[frame.module].places
        address = None if places is None else places.address(frame)
        if places is None or address is None:
            return None
        ends = places.is_after_call(address)
        return ends if ends is None or not by else places.code.may_return(address + by)

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
            self._frames[at] = self._frames[at]._replace(is_return=False)
        return chosen

    def _look_up(
        self,
        module: ModuleOfReport,
        chosen: set[int] | None,
        answers: list[ReportFrame],
        text_left: int,
    ) -> int:
        reader, places = module.reader, module.places
        wanted = [at for at in module.frames if chosen is None or at in chosen]
        if reader is None or places is None or not wanted:
            return text_left
        several: dict[tuple[Reader, bool], dict[int, int]] = {}  # addresses by frame
        for at in wanted:
            frame = self._frames[at]
            address = places.link_address(frame)
            if address is None:
                answers[at] = answers[at]._replace(reason=places.reason)
            else:
                own = places.reader_of(frame, address) if frame.symbol else reader
                several.setdefault((own, frame.is_return), {})[at] = address
        base = reader.header.base_address
        for (own, _), addresses in several.items():
            text_left = self._answer_all(own, base, addresses, answers, text_left)
        return text_left

    def _answer_all(
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
        is_return = self._frames[next(iter(addresses))].is_return
        asked = [*dict.fromkeys(addresses.values())]  # threads wait in one place
        several: Iterable[_Calls]
        several, starts = _calls_at(reader, asked, text_left, by=is_return)
        number = self._frames[next(iter(addresses))].module
        self._starts.update((number, each) for each in starts)
        self._callers |= {number} if is_return else set()
        are_distinct = len(asked) == len(addresses)
        if not are_distinct:
            calls_of = dict(zip(asked, several, strict=True))
            several = map(calls_of.__getitem__, addresses.values())
        known: dict[tuple[object, ...], ReportFrame] = {}  # equal frames
        base -= is_return
        frames = self._frames
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
            doubt, answer = frame[15], None
            if not are_distinct:
                key = text, own, symbol, doubt, trust
                answer = known.get(key)
            if answer is None:
                # fmt: off
                answer = _new(ReportFrame, (  # there are many, so in the order of them
                    text, number, own, symbol, calls, address - base, doubt, is_return,
                    trust, (), "",
                ))
                # fmt: on
                if not are_distinct:
                    known[key] = answer
            answers[at] = answer
        return text_left


def _calls_at(
    reader: Reader, asked: Sequence[int], most: int, *, by: bool
) -> tuple[list[_Calls], set[int]]:
    """Calls at addresses, with their characters, until all have *most*; all functions.

    The functions are their link-time starts.

    Args:
        reader: The file.
        asked: The addresses, each once.
        most: Number of characters.
        by: Bytes from there to the address where the instruction ends.
    """
    frames = reader.lookup_many(asked, misses=False)
    found, starts = [_NO_CALLS] * len(asked), set[int]()
    calls: list[Frame] = []
    size = 0
    for at, name, (directory, filename), line, offset, inlined in zip(  # noqa: B905 - of one table
        frames.address_index,
        map(frames.tables.strings.__getitem__, frames.name),
        map(frames.tables.files.__getitem__, frames.path),
        frames.line,
        [each + 1 for each in frames.offset] if by else frames.offset,
        frames.inlined,
    ):
        if not inlined or len(calls) < _MOST_CALLS:
            size += len(name) + len(directory) + len(filename)
            call = name, directory, filename, line, offset, inlined
            calls.append(_new(Frame, call))
        if not inlined:
            found[at] = tuple(calls), size
            starts.add(asked[at] + by - offset)
            most -= size
            if most <= 0:
                break
            calls, size = [], 0
    return found, starts
