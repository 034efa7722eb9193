"""A report -> the calls at its addresses, or the reason why there are none.

Opening modules may take long, so it is a separate step, as for API requests: gather,
open, answer. All addresses of a module are looked up together.
"""

from __future__ import annotations

import os
from itertools import pairwise

from gsym.model import UINT64_MAX, Frame
from gsym.records import NamedTuple
from gsym.store.modules import key_of_debug_id
from gsym.symbolication.stacks.parts import NO_MODULE, StackFrame

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from gsym.containers.headers import Segment
    from gsym.model import FunctionRange
    from gsym.reading.reader import Reader
    from gsym.store.modules import Attempt, Entry, ModuleKey
    from gsym.store.symbolizer import OpenModule
    from gsym.symbolication.memory.loaded import Loaded
    from gsym.symbolication.stacks.parts import PastedStack, StackModule
    from gsym.symbolication.store_listing import StoreListing

_MOST_CALLS = 200  # inlined calls of one frame, the innermost
_MOST_TEXT = 16 << 20  # characters of all names and paths
# What reports call functions that they do not know.
_NO_NAMES = frozenset({"", "?", "??", "???", "<unknown>", "(unknown)", "n/a", "<null>"})
_PAGE = 4096
# Where the handler of a signal returns to.
_SIGNAL_RETURNS = frozenset(
    {
        *(
            "__restore_rt",
            "__restore",
            "__default_sa_restorer",
            "__default_rt_sa_restorer",
        ),
        *("__kernel_rt_sigreturn", "__kernel_sigreturn", "_sigtramp"),
        "runtime.sigpanic",
    }
)

# Bases of addresses that may be those of the process.
_MAY_BE_LINK = frozenset({"link", "either", "file"})
NOT_PLACED = "the report does not say where its module was loaded"


class ReportFrame(NamedTuple):
    """A frame of a report.

    Attributes:
        text: As in the report.
        module: Index into `Report.modules`, or -1.
        address: As in the report: in the process or in the module, in bytes.
        symbol: The function that the report names, or "".
        calls: Innermost first, the function itself last; empty if not known.
        offset: From the start of the loaded module, in bytes; None without calls.
        reason: Why there are no calls, or "".
        is_return: Whether it is a return address; the calls are those one byte before.
        trust: How the frame was found where gsym walked the stack itself: "context" (in
            saved registers), "call frame info", "frame pointer", "scan" (a value on the
            stack that may be a return address); else "".
    """

    text: str
    module: int
    address: int
    symbol: str = ""
    calls: tuple[Frame, ...] = ()
    offset: int | None = None
    reason: str = ""
    is_return: bool = False
    trust: str = ""


class ReportThread(NamedTuple):
    """A stack of a report, innermost frame first.

    Attributes:
        name: What the report says of it, or "".
        is_crashed: Whether it is that of the thread that crashed.
        frames: Its frames.
    """

    name: str
    is_crashed: bool
    frames: tuple[ReportFrame, ...]


class ReportModule(NamedTuple):
    """A module of a report.

    Attributes:
        name: As in the report, without folder.
        debug_id: Of the file that was found, else as in the report; or "".
        code_id: Likewise.
        path: The file that its symbols are from; "" without one.
        state: "found", "missing", or "unused" (no frame is in it).
        is_guess: The report has no id of it, and a file of its name is used.
        reason: Why it is missing.
        attempts: The result from each source.
    """

    name: str
    debug_id: str
    code_id: str
    path: str = ""
    state: str = "unused"
    is_guess: bool = False
    reason: str = ""
    attempts: tuple[Attempt, ...] = ()


class Report(NamedTuple):
    """A symbolized report; `str` is its text with the calls in place of addresses.

    Attributes:
        form: The name of its format.
        reason: Why the program ended, as the report says; "" if it does not.
        threads: Its stacks, in order.
        modules: The modules of its frames, in order.
        notes: Sentences about omissions.
        parts: Texts, and places of frames as index of the thread and of the frame.
        is_verbatim: Whether the texts are those of the report; of JSON they are
            headings.
    """

    form: str
    reason: str
    threads: tuple[ReportThread, ...]
    modules: tuple[ReportModule, ...]
    notes: tuple[str, ...]
    parts: tuple[str | tuple[int, int], ...]
    is_verbatim: bool

    def __str__(self) -> str:
        return "".join(self._texts())

    def frames(self) -> Iterator[ReportFrame]:
        """The frames of all threads, in order."""
        for thread in self.threads:
            yield from thread.frames

    def explanation(self) -> Iterator[str]:
        """Sentences about what was tried for each module, and for each frame."""
        for module in self.modules:
            for each in module.attempts:
                detail = each.outcome if each.detail == each.source else each.detail
                yield f"{module.name}: {each.source}: {detail or each.outcome}"
        for frame in self.frames():
            if frame.calls and frame.offset is not None:
                module = self.modules[frame.module]
                place = f"{module.name}+{frame.offset:#x} in {module.path}"
                yield f"{frame.text}: {place}"
            else:
                reason = frame.reason or "the report names its function"
                yield f"{frame.text}: {reason}"

    def to_json(self) -> str:
        """The report as a JSON object: form, reason, threads, modules, notes.

        Addresses and offsets are hexadecimal texts; lines count from 1, and 0 is an
        unknown one.
        """
        import json

        record = {
            "form": self.form,
            "reason": self.reason,
            "threads": [
                {
                    "name": thread.name,
                    "crashed": thread.is_crashed,
                    "frames": [_frame_record(frame) for frame in thread.frames],
                }
                for thread in self.threads
            ],
            "modules": [_module_record(module) for module in self.modules],
            "notes": list(self.notes),
        }
        return json.dumps(record, ensure_ascii=False)

    def _texts(self) -> Iterator[str]:
        line = ""  # the start of the current line
        for part in self.parts:
            if isinstance(part, str):
                yield part
                line = (line + part).rpartition("\n")[2]
                continue
            thread, number = part
            frame = self.threads[thread].frames[number]
            text = self._answered(frame, line)
            yield text
            line += frame.text

    def _answered(self, frame: ReportFrame, line: str) -> str:
        from gsym.engine.demangling import demangle
        from gsym.symbolication.stacks.browser_profile import (
            FORM as PROFILE_FORM,
            answer_name,
        )

        if not frame.calls or frame.offset is None:
            return frame.text
        if self.form == PROFILE_FORM:
            return answer_name(demangle(frame.calls[-1].name))
        blank = "".join("\t" if each == "\t" else " " for each in line)
        module = self.modules[frame.module].name
        calls = f"\n{blank}".join(map(str, frame.calls))
        return f"{calls} ({module}+{frame.offset:#x})"


def _frame_record(frame: ReportFrame) -> dict[str, object]:
    from gsym.engine.demangling import demangle

    return {
        "text": frame.text,
        "module": frame.module,
        "address": hex(frame.address),
        "offset": None if frame.offset is None else hex(frame.offset),
        "symbol": frame.symbol,
        "calls": [
            {
                "function": demangle(call.name),
                "file": call.path,
                "line": call.line,
                "offset": hex(call.offset),
                "inlined": call.inlined,
            }
            for call in frame.calls
        ],
        "reason": frame.reason,
        "is_return": frame.is_return,
        "trust": frame.trust,
    }


def _module_record(module: ReportModule) -> dict[str, object]:
    return {
        **module._asdict(),
        "attempts": [each._asdict() for each in module.attempts],
    }


class ModuleOfReport:
    """A module of a report, and its frames.

    Args:
        named: The module as in the report.
        chosen: Debug id that the user chose for it, or "".

    Attributes:
        frames: Indexes of its frames.
        candidates: Without an id: the modules of its name in the store.
        key: The key to open it by; None if unknown, or not needed.
        module: The result of opening it; None before that, and without a key.
        binary: Path of a file with its segments and sections; "" if unknown.
        is_guess: Whether it was found by its name alone.
        seconds: The time that opening took.
        reason: Why it is not opened.
    """

    def __init__(self, named: StackModule, chosen: str = "") -> None:
        self.named = named
        self.chosen = chosen
        self.frames: list[int] = []
        self.candidates: list[Entry] = []
        self.key: ModuleKey | None = None
        self.module: OpenModule | None = None
        self.binary = ""
        self.is_guess = False
        self.seconds = 0.0
        self.reason = named.problem

    @property
    def has_id(self) -> bool:
        """Whether the report has an id of it."""
        return self.named.has_id

    @property
    def reader(self) -> Reader | None:
        """Its GSYM file, if it was found."""
        return self.module.reader if self.module is not None else None

    @property
    def missing(self) -> str:
        """Why there are no symbols of it; "" if there are."""
        if self.reader is not None:
            return ""
        reason = self.module.reason if self.module is not None else self.reason
        return f"no symbols of {self.named.name}: {reason}"

    def identify(self, listing: StoreListing, same: StackModule | None) -> None:
        """Find the key to open it by.

        Args:
            listing: The modules of the store.
            same: One with an id, to which the report elsewhere gives this name.

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
            self.is_guess = True
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
        path = self.binary or self.reader.path or ""
        return answer._replace(state="found", path=path, is_guess=self.is_guess)


class ReportWork:
    """The work for one report.

    Args:
        stack: The parsed report.
        choices: Debug ids that the user chose, by index of the module.

    Attributes:
        modules: The modules in the order of the report.
    """

    def __init__(
        self,
        stack: PastedStack,
        choices: Mapping[int, str] = {},
    ) -> None:
        self._stack = stack
        self.modules = [
            ModuleOfReport(module, choices.get(at, ""))
            for at, module in enumerate(stack.modules)
        ]
        self._frames = [part for part in stack.parts if isinstance(part, StackFrame)]
        for at, frame in enumerate(self._frames):
            if frame.module != NO_MODULE:
                self.modules[frame.module].frames.append(at)

    def same_names(self) -> dict[str, StackModule]:
        """Modules with ids, by the name that the report gives them."""
        return {
            each.named.name: each.named
            for each in reversed(self.modules)
            if not each.named.problem and each.has_id
        }

    def identify(self, listing: StoreListing) -> None:
        """Find the keys to open the modules by.

        Raises:
            GsymError: The store cannot be used.
            OSError: It cannot be read.
        """
        same = self.same_names()
        for module in self.modules:
            module.identify(listing, same.get(module.named.name))

    def answer(self) -> Report:
        """The report, when the modules are open.

        Raises:
            GsymError: A file is damaged.
        """
        answers = [
            ReportFrame(
                each.text, each.module, each.address, each.symbol, trust=each.trust
            )
            for each in self._frames
        ]
        notes = list(self._stack.notes)
        text_left = _MOST_TEXT
        for among in (None, self._missed_returns, self._interrupted):
            chosen = None if among is None else among(answers)
            for module in self.modules:
                if module.reader is not None and text_left > 0:
                    text_left = self._look_up(module, chosen, answers, text_left)
        if text_left <= 0:
            notes.append("Some frames are left out: the answer would be too large.")
        return Report(
            self._stack.form,
            self._stack.reason,
            self._threads(answers),
            tuple([module.answer() for module in self.modules]),
            tuple(notes),
            self._parts(),
            self._stack.is_verbatim,
        )

    def _threads(self, answers: Sequence[ReportFrame]) -> tuple[ReportThread, ...]:
        frames: list[list[ReportFrame]] = [[] for _ in self._stack.stacks]
        for frame, answer in zip(self._frames, answers, strict=True):
            if answer.module == NO_MODULE and frame.symbol in _NO_NAMES:
                answer = answer._replace(reason="not in a known module")  # noqa: PLW2901
            elif answer.module != NO_MODULE and not (answer.calls or answer.reason):
                missing = self.modules[answer.module].missing
                answer = answer._replace(reason=missing)  # noqa: PLW2901
            frames[frame.stack].append(answer)
        return tuple(
            ReportThread(heading.name, heading.is_crashed, tuple(own))
            for heading, own in zip(self._stack.stacks, frames, strict=True)
        )

    def _parts(self) -> tuple[str | tuple[int, int], ...]:
        seen = [0] * len(self._stack.stacks)
        parts: list[str | tuple[int, int]] = []
        for part in self._stack.parts:
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
            if answers[at].calls
            and answers[at].calls[-1].name in _SIGNAL_RETURNS
            and frame.stack == following.stack
            and following.is_return
        }
        return self._take_as_exact(found)

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
        reader = module.reader
        wanted = [at for at in module.frames if chosen is None or at in chosen]
        if reader is None or not wanted:
            return text_left
        every = [self._frames[at] for at in module.frames]
        places = _Places(reader, module.binary, every)
        addresses: dict[int, int] = {}  # by frame
        for at in wanted:
            address = places.link_address(self._frames[at])
            if address is None:
                answers[at] = answers[at]._replace(reason=places.reason)
            else:
                addresses[at] = address
        calls_of, text_left = _calls_at(reader, addresses, text_left)
        base = reader.header.base_address
        for at, address in addresses.items():
            frame = self._frames[at]
            if at in calls_of:
                offset = address + frame.is_return - base
                calls = [
                    each._replace(offset=each.offset + frame.is_return)
                    for each in calls_of[at]
                ]
                answers[at] = answers[at]._replace(
                    calls=tuple(calls),
                    offset=offset,
                    reason="",
                    is_return=frame.is_return,
                )
                continue
            reason = "no function at this address"
            if frame.base in _MAY_BE_LINK:
                reason += f"; if it is one of the process, {NOT_PLACED}"
            answers[at] = answers[at]._replace(reason=reason)
        return text_left


class _Places:
    """Link-time addresses of the frames of a module.

    Args:
        reader: Its symbols.
        binary: A file with its segments and sections; "" if there is none.
        frames: Frames in it; those that name their functions tell where it was loaded.

    Attributes:
        reason: Why the last frame has none.
    """

    def __init__(
        self, reader: Reader, binary: str, frames: Sequence[StackFrame]
    ) -> None:
        self._reader = reader
        self._base = reader.header.base_address
        self._layout = _Layout(binary)
        self._by_name: dict[str, list[FunctionRange]] | None = None
        self._loaded = self._find_load_address(frames)
        self.reason = ""

    def link_address(self, frame: StackFrame) -> int | None:
        """The link-time address to look up; None if it cannot be told."""
        address = self._address(frame)
        if address is None:
            return None
        return min(max(address - frame.is_return, 0), UINT64_MAX)

    def _address(self, frame: StackFrame) -> int | None:
        base, address = frame.base, frame.address
        if base == "symbol":
            return self._symbol_address(frame)
        if base == "image" or (base == "either" and address < self._base):
            return address + self._base
        start = None
        if base not in {"link", "either"}:
            start = self._layout.link_address(base, address)
        if start is None and base in _MAY_BE_LINK:
            if self._is_code(address):
                return address
            named = None if frame.plus is None else self._symbol_address(frame)
            if named is not None or self._loaded is None:
                return address if named is None else named
            return address - self._loaded
        if start is None:
            self.reason = f"no file has its segments, and {NOT_PLACED}"
        return start

    def _is_code(self, address: int) -> bool:
        return bool(self._reader.lookup(max(address - 1, 0)))

    def _symbol_address(self, frame: StackFrame) -> int | None:
        plus = frame.plus or 0
        fitting = [each for each in self._functions(frame) if plus <= each.size]
        if not fitting:
            self.reason = f"no function {frame.symbol} of this size"
            return None
        return fitting[0].start + plus

    def _functions(self, frame: StackFrame) -> Sequence[FunctionRange]:
        """The functions of this name, as linked or demangled."""
        exact = self._reader.find(frame.symbol) if frame.symbol else ()
        return exact or self._demangled().get(frame.symbol, ())

    def _demangled(self) -> dict[str, list[FunctionRange]]:
        """Functions by their demangled names, with parameters and without."""
        from gsym.engine.demangling import demangle
        from gsym.reading.decoded_functions import function_ranges

        if self._by_name is None:
            self._by_name = {}
            for function in function_ranges(self._reader):
                name = demangle(function.name)
                for each in {name, name.partition("(")[0]}:
                    self._by_name.setdefault(each, []).append(function)
        return self._by_name

    def _find_load_address(self, frames: Sequence[StackFrame]) -> int | None:
        """Distance of addresses in the process, if all named functions agree on it.

        Modules are loaded at page boundaries, so the last digits of an address and its
        function tell the distance if the function is less than a page.
        """
        found: set[int] = set()
        for frame in frames:
            if frame.base not in _MAY_BE_LINK or not frame.symbol:
                continue
            if self._is_code(frame.address):
                continue
            exact = frame.address - frame.is_return
            for each in self._functions(frame):
                if frame.plus is not None:
                    distance = frame.address - each.start - frame.plus
                else:
                    distance = (exact - each.start) & -_PAGE
                inside = exact - distance - each.start
                if distance % _PAGE == 0 and 0 <= inside < each.size:
                    found.add(distance)
        return found.pop() if len(found) == 1 else None


class _Layout:
    """Segments and sections of a file, read once."""

    def __init__(self, binary: str) -> None:
        self._binary = binary
        self._segments: Sequence[Segment] | None = None
        self._text: int | None = None

    def link_address(self, base: str, address: int) -> int | None:
        """The link-time address of an address in a file, section or segment."""
        from gsym.containers.headers import file_address

        if self._segments is None:
            self._segments = self._read()
        if base == "text":
            return None if self._text is None else self._text + address
        if base == "file":
            return file_address(address, self._segments)
        for each in self._segments:
            if each.is_executable:
                return (each.address & -_PAGE) + address
        return None

    def _read(self) -> Sequence[Segment]:
        from gsym.containers.headers import load_segments
        from gsym.containers.mapped_file import map_file
        from gsym.containers.object_file import ObjectFile
        from gsym.errors import GsymError

        if not self._binary:
            return ()
        try:
            with ObjectFile(map_file(self._binary), self._binary) as file:
                text = file.code_range(b".text")
                self._text = None if text is None else text[0]
                return load_segments(file.data, self._binary)
        except (GsymError, OSError, ValueError):
            return ()


def _calls_at(
    reader: Reader, addresses: Mapping[int, int], text_left: int
) -> tuple[dict[int, tuple[Frame, ...]], int]:
    """Calls of each frame with symbols, and the remaining text budget."""
    asked = list(addresses)
    frames = reader.lookup_many(list(addresses.values()), misses=False)
    tables = frames.tables
    found: dict[int, list[Frame]] = {}
    for at, name, file, line, offset, inlined in zip(  # noqa: B905 - of one table
        frames.address_index,
        frames.name,
        frames.file,
        frames.line,
        frames.offset,
        frames.inlined,
    ):
        calls = found.setdefault(asked[at], [])
        if inlined and len(calls) >= _MOST_CALLS:
            continue
        call = Frame(
            tables.strings[name], *tables.files[file], line, offset, bool(inlined)
        )
        text_left -= len(call.name) + len(call.directory) + len(call.filename)
        if text_left <= 0:
            found.pop(asked[at])
            break
        calls.append(call)
    return {at: tuple(calls) for at, calls in found.items()}, text_left


def symbolicate(  # noqa: PLR0913 - independent keywords
    report: str | os.PathLike[str],
    *,
    source: str | os.PathLike[str] | Sequence[str | os.PathLike[str]] = (),
    maps: str | Loaded | None = None,
    load_addresses: Mapping[str, int] | None = None,
    module: str | None = None,
    store: str | None = None,
) -> Report:
    """Symbolicate a crash report, a log, a backtrace: any text with addresses.

    The format is recognized by the content; docs/crash.md lists those that are.

    Args:
        report: The text, or a path (not a `str`) of a file with it, a core file or a
            minidump. The folder of the file is searched for modules, too.
        source: Where modules are, in order: folders, which are searched for files by
            their ids and names, and servers as `open_source` takes them.
        maps: What is loaded where, in the format of `/proc/PID/maps`, or a `Process` or
            `Kernel`, for addresses whose modules the report does not have.
        load_addresses: Where modules start in the process, by name.
        module: Name of the module of addresses that have none.
        store: Folder of the store; None for the user's own.

    Returns:
        The report; `str` of it is the text with an answer in the place of each frame.

    Raises:
        GsymError: A module or a core file is damaged.
        OSError: The file cannot be read.
        ValueError: A source is invalid.
    """
    from gsym.symbolication.memory.dumps import is_dump

    beside = ""
    if not isinstance(report, str):
        path = os.fspath(report)
        if is_dump(path):
            return symbolicate_dump(path, source=source, store=store)
        beside = os.path.dirname(os.path.abspath(path))
        with open(path, "rb") as file:
            report = file.read().decode("utf-8", "surrogateescape")
    return symbolicate_text(
        report,
        beside,
        source=source,
        maps=maps,
        load_addresses=load_addresses,
        module=module,
        store=store,
    )


def symbolicate_text(  # noqa: PLR0913 - independent keywords
    text: str,
    beside: str,
    *,
    source: str | os.PathLike[str] | Sequence[str | os.PathLike[str]] = (),
    maps: str | Loaded | None = None,
    load_addresses: Mapping[str, int] | None = None,
    module: str | None = None,
    store: str | None = None,
) -> Report:
    """As `symbolicate`, of a text from the folder *beside*; "" if from nowhere."""
    from gsym.symbolication.stacks.parts import NO_LIMITS, module_of_path
    from gsym.symbolication.stacks.recognition import parse_pasted_stack

    stack = parse_pasted_stack(
        text,
        module_of_path(module) if module else None,
        NO_LIMITS,
        maps=maps or "",
        load_addresses=load_addresses or {},
    )
    return symbolicate_stack(stack, beside, source=source, store=store)


def symbolicate_stack(
    stack: PastedStack,
    beside: str = "",
    *,
    source: str | os.PathLike[str] | Sequence[str | os.PathLike[str]] = (),
    store: str | None = None,
) -> Report:
    """As `symbolicate_text`, of a report that is parsed."""
    from gsym.symbolication.report_modules import ReportModules

    work = ReportWork(stack)
    with ReportModules(source, beside, store) as modules:
        modules.open_all(work)
        return work.answer()


def symbolicate_dump(
    path: str,
    *,
    source: str | os.PathLike[str] | Sequence[str | os.PathLike[str]] = (),
    store: str | None = None,
) -> Report:
    """As `symbolicate`, of a core file or minidump."""
    from gsym.symbolication.memory.dumps import read_dump
    from gsym.symbolication.report_modules import ReportModules

    beside = os.path.dirname(os.path.abspath(path))
    with ReportModules(source, beside, store) as modules:
        work = ReportWork(read_dump(path, modules.paths))
        modules.open_all(work)
        return work.answer()
