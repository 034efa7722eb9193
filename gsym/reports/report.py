"""A symbolized report: its threads, frames and modules, and its text."""

from __future__ import annotations

from functools import cache
from itertools import zip_longest

from gsym.engine.native import to_bytes, to_str
from gsym.lazy import json, regex
from gsym.memory.stack_parts import FOLDED, PROFILE
from gsym.model import frame_text, in_source_notation, join_path
from gsym.records import NamedTuple
from gsym.reports.stacks.prefixes import prefix_size

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from typing import Any

    from gsym.model import Frame
    from gsym.modules.key import Attempt
    from gsym.reports.answers import Answers

    Shown = str | tuple[Sequence[str], Sequence[str]] | None
    """An answer in the place of a part: a text, or lines and others that follow the
    line of the part; None: the part stays."""


# Functions that report a fault of their callers.
_REPORTING = regex(
    r"_*(gsignal|raise|abort|assert\w*|libc_message\w*|libc_fatal|malloc_printerr|"
    r"fortify_fail|stack_chk_fail|pthread_kill\w*|kernel_vsyscall|restore_rt)$|"
    r"_*(asan|ubsan|tsan|msan|sanitizer|interceptor)_\w+$|"
    r"(terminate|__verbose_terminate_handler|__cxa_r?e?throw|panic_fmt|"
    r"rust_begin_unwind|runtime\.(gopanic|sigpanic|raise|dieFromSignal|throw))$"
)
_NO_TAB = regex(r"[^\t]")
MOST_INDENT = 200  # characters before the calls that a frame is inlined into


class SourceContext(NamedTuple):
    """Lines of a source file.

    Attributes:
        first: Number of the first one; lines count from 1.
        lines: Their texts; none if the file is not at hand.
        link: Its URL, or the command that fetches it, as the debug information says;
            only in the place of lines, else "".
    """

    first: int
    lines: tuple[str, ...]
    link: str = ""

    def shown(self, line: int) -> list[str]:
        """The lines with their numbers, *line* marked; or the place of the file."""
        if self.link:
            return [f"source: {self.link}"]
        width = len(str(self.first + len(self.lines)))
        return [
            f"{'>' if number == line else ' '} {number:>{width}} | {text}".rstrip()
            for number, text in enumerate(self.lines, self.first)
        ]


SEVERAL = "one of "  # how `ReportFrame.folded` begins if the function is not sure


class ReportFrame(NamedTuple):
    """A frame of a report.

    Attributes:
        text: As in the report.
        module: Index into `Report.modules`, or -1.
        address: As in the report: in the process or in the module, in bytes.
        symbol: The function that the report names, or "".
        calls: Innermost first, the function itself last; empty if not known.
        offset: From the start of the loaded module, in bytes; None without calls.
        reason: Why there are no calls, or what else the frame may be; or "".
        is_return: Whether it is a return address; the calls are those one byte before.
        trust: How the frame was found where gsym walked the stack itself: "context" (in
            saved registers), "call frame info", "signal frame" (in the registers that
            the handler of a signal restores), "prologue" (by the instructions of the
            function), "link register", "return address" (on top of the stack), "frame
            pointer", "scan" (a value on the stack that may be a return address);
            else "".
        sources: Source lines around that of each of the calls, where they were asked
            for and are there; None for others.
        folded: What is not sure where the linker gave several functions the same code:
            "one of first, second", "lines of first, which has the same code"; else "".
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
    sources: tuple[SourceContext | None, ...] = ()
    folded: str = ""


class ReportThread(NamedTuple):
    """A stack of a report, innermost frame first.

    Attributes:
        name: What the report says of it, or "".
        is_crashed: Whether it is that of the thread that crashed.
        frames: Its frames.
        end: Why it ends before the outermost frame where gsym walked it; "" if it does
            not.
        left_out: Number of frames in the middle that are left out.
        registers: Those of a thread of a dump that crashed, by name.
        instruction: The instruction at which that crashed, as text; "" if unknown, or
            without the extra `asm`.
    """

    name: str
    is_crashed: bool
    frames: Sequence[ReportFrame]
    end: str = ""
    left_out: int = 0
    registers: dict[str, int] = {}  # noqa: RUF012 - not changed
    instruction: str = ""


class ReportModule(NamedTuple):
    """A module of a report.

    Attributes:
        name: As in the report, without folder.
        debug_id: Of the file that was found, else as in the report; or "".
        code_id: Of the file that was found, else as in the report; or "".
        path: The file that its symbols are from; "" without one.
        state: "found", "missing", or "unused" (no frame is in it).
        unsure: Why the file may be of another build: "found by its name alone", "only
            16 of 20 bytes of its build id are known"; "" if it is not.
        reason: Why it is missing.
        attempts: The result from each source.
    """

    name: str
    debug_id: str
    code_id: str
    path: str = ""
    state: str = "unused"
    unsure: str = ""
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
        if self.form == PROFILE and any(len(each.calls) > 1 for each in self.frames()):
            from gsym.reports.stacks.browser_inlining import with_inlined_calls

            original = "".join(self.originals())
            return with_inlined_calls(original, self.frames())
        return "".join(self.texts())

    def __repr__(self) -> str:
        frames = [*self.frames()]
        answered = sum(bool(each.calls) for each in frames)
        return (
            f"<gsym.Report {self.form}: {len(self.threads)} threads, "
            f"{answered} of {len(frames)} frames answered>"
        )

    def _repr_html_(self) -> str:
        """Show the threads as tables in a notebook."""
        from gsym.reading.notebook import html_table, html_text

        tables = []
        for thread in self.threads:
            rows = [
                row
                for number, frame in enumerate(thread.frames)
                for row in self._rows(number, frame)
            ]
            name = thread.name or "thread"
            caption = f"{name}, crashed" if thread.is_crashed else name
            heads = "#", "function", "source", "module"
            tables.append(html_table(heads, rows, caption))
        return html_text(self.reason or repr(self)) + "".join(tables)

    def _rows(self, number: int, frame: ReportFrame) -> Iterator[tuple[object, ...]]:
        module = self.modules[frame.module].name if frame.module >= 0 else ""
        for call in frame.calls:
            source = f"{call.path}:{call.line or '?'}" if call.path else ""
            inlined = " [inlined]" * call.inlined
            yield number, call.demangled + inlined, source, module
        if not frame.calls:
            yield number, frame.symbol or frame.text.strip(), frame.reason, module

    def key(self, most: int = 8) -> str:
        """A text that reports of one fault share, for grouping.

        It has the names of functions of the thread that crashed, or else of the first
        one, innermost first: without parameters, addresses, lines, and the functions
        that only report a fault, such as `abort`. A frame without a name is its module.

        Args:
            most: Maximum number of names; fewer make larger groups.

        Raises:
            TypeError: *most* is not an integer.
            ValueError: It is less than 1.
        """
        from gsym.arguments import integer_of
        from gsym.markup.short_names import short_name

        most = integer_of("most", most, 1)
        thread = next((each for each in self.threads if each.is_crashed), None)
        thread = thread or next(iter(self.threads), None)
        names = []
        for frame in () if thread is None else thread.frames:
            module = self.modules[frame.module].name if frame.module >= 0 else "??"
            functions = [each.demangled for each in frame.calls] or [frame.symbol]
            short = (to_str(short_name(to_bytes(each))) for each in functions)
            names += [each or module for each in short]
        start = 0
        while start < len(names) and _REPORTING.match(names[start]):
            start += 1
        return " | ".join(names[start : start + most] or names[:most])

    @property
    def columns(self) -> Answers | None:
        """The columns that the frames are made of; None if frames are records."""
        answers = (getattr(each.frames, "answers", None) for each in self.threads)
        return next(answers, None)

    def with_records(self) -> Report:
        """The report with the records of its frames in the place of columns."""
        if (columns := self.columns) is None:
            return self
        threads = [each._replace(frames=tuple(each.frames)) for each in self.threads]
        parts = tuple(columns.frames.parts())
        return self._replace(threads=tuple(threads), parts=parts)

    def unsure_frames(self) -> Iterable[ReportFrame]:
        """The frames without calls, and those of which something is not sure."""
        if (columns := self.columns) is not None:
            return columns.unsure()
        frames = self.frames()
        return (each for each in frames if not each.calls or each.reason or each.folded)

    def frames(self) -> Iterator[ReportFrame]:
        """The frames of all threads, in order."""
        for thread in self.threads:
            yield from thread.frames

    def doubts(self) -> Iterator[str]:
        """A sentence about each module whose file may be of another build."""
        for module in self.modules:
            if module.unsure:
                yield f"{module.name}: {module.unsure}: it may be another build"

    def explanation(self) -> Iterator[str]:
        """Sentences about what was tried for each module, and for each frame."""
        for module in self.modules:
            for each in module.attempts:
                yield f"{module.name}: {each.text}"
        for frame in self.frames():
            if frame.calls and frame.offset is not None:
                module = self.modules[frame.module]
                place = f"{module.name}+{frame.offset:#x} in {module.path}"
                known = filter(None, (place, frame.folded, frame.reason))
                yield f"{frame.text}: {'; '.join(known)}"
            else:
                reason = frame.reason or "the report names its function"
                yield f"{frame.text}: {reason}"

    def to_json(self) -> str:
        """The report as a JSON object: form, reason, threads, modules, notes.

        Addresses and offsets are hexadecimal texts; lines count from 1, and 0 is an
        unknown one.
        """
        return json.dumps(self.to_dict())

    def to_dict(
        self, shown: Callable[[str], str] = str, path_map: Callable[[str], str] = str
    ) -> dict[str, Any]:
        """The values of `to_json`.

        Args:
            shown: Makes names and reasons valid texts, or shorter.
            path_map: Rewrites paths of source files.
        """
        return {
            "form": self.form,
            "reason": shown(self.reason),
            "threads": [
                {
                    "name": shown(thread.name),
                    "crashed": thread.is_crashed,
                    "frames": [
                        _frame_record(frame, shown, path_map) for frame in thread.frames
                    ],
                    "end": thread.end,
                    "left_out": thread.left_out,
                    "registers": {
                        name: f"{value:#x}" for name, value in thread.registers.items()
                    },
                    "instruction": thread.instruction,
                }
                for thread in self.threads
            ],
            "modules": [_module_record(module, shown) for module in self.modules],
            "notes": list(self.notes),
        }

    def texts(
        self,
        indent: Callable[[str], str] | None = None,
        lines: CallLines | None = None,
    ) -> Iterator[str]:
        """The text in pieces, frames with their calls.

        Args:
            indent: What the second and later lines of an answer begin with, for the
                text before it in its line; None: `indented`.
            lines: The lines of the answer for the calls of a frame; None: the usual.
        """
        indent, last = indent or indented, len(self.parts) - 1
        if (columns := self.columns) is not None:
            yield from columns.texts([each.name for each in self.modules], indent)
            return
        after = ""  # source lines that follow the current line
        known, start = 0, ""  # a part, and the start of its line
        texts, frames = [*self.originals()], self._shown(lines or CallLines())
        for at, (text, shown) in enumerate(zip(texts, frames, strict=True)):
            if not (after or isinstance(shown, tuple)):  # as most are
                yield shown or text
                continue
            answer = shown or text
            if not isinstance(answer, str):
                before = "".join((start, *texts[known:at]))
                known, start = at, before.rpartition("\n")[2][:MOST_INDENT]
                between = f"\n{indent(start)}"
                after += "".join(between + each for each in answer[1])
                answer = between.join(answer[0])
            elif not shown and (end := text.find("\n")) >= 0:
                answer, after = f"{text[:end]}{after}{text[end:]}", ""
            yield answer + after if at == last else answer

    def originals(self) -> Iterator[str]:
        """The text of each of `texts` as it was in the report."""
        if (columns := self.columns) is not None:
            return map("".join, columns.frames.texts())
        frames = [each.frames for each in self.threads]
        return (
            each if isinstance(each, str) else frames[each[0]][each[1]].text
            for each in self.parts
        )

    def _shown(self, lines: CallLines) -> Iterator[Shown]:
        """The answer that is shown for each part."""
        names = [each.name for each in self.modules]
        known: dict[int, Shown] = {}  # threads share equal frames

        def shown(stack: int, number: int) -> Shown:
            frame = self.threads[stack].frames[number]
            if id(frame) not in known:
                known[id(frame)] = _frame_answer(frame, self.form, names, lines)
            return known[id(frame)]

        return (None if isinstance(each, str) else shown(*each) for each in self.parts)


def _frame_answer(
    frame: ReportFrame, form: str, modules: Sequence[str], lines: CallLines
) -> Shown:
    calls = frame.calls
    if not calls:
        return None
    if form == PROFILE:
        from gsym.reports.stacks.browser_profile import answer_name

        return answer_name(calls[-1].demangled)
    if form == FOLDED:
        return ";".join(each.demangled for each in reversed(calls))
    if frame.offset is None:
        return None
    names, directories, filenames, *others = zip(*calls, strict=True)
    shown = lines.rows(names, [*zip(directories, filenames, strict=True)], *others)
    other = f"; {frame.folded}" if frame.folded else ""
    doubt = " [ambiguous]" if frame.reason else ""
    shown[-1] += f" ({modules[frame.module]}+{frame.offset:#x}{other}){doubt}"
    contexts = [
        [] if source is None else [f"  {each}" for each in source.shown(call.line)]
        for call, source in zip(calls, frame.sources, strict=False)
    ]
    after = contexts.pop() if contexts else ()
    pairs = zip_longest(shown, contexts, fillvalue=())
    return [each for line, context in pairs for each in (line, *context)], after


class CallLines:
    """The lines of the calls of frames, as `str` of each.

    Args:
        name: Shows the linkage name of a function.
        path: Shows directory and name of a source file.
        inlines: Whether calls that are inlined have lines.
    """

    def __init__(
        self,
        name: Callable[[str], str] = in_source_notation,
        path: Callable[[str, str], str] = join_path,
        *,
        inlines: bool = True,
    ) -> None:
        self._names = cache(lambda text: name(text).lstrip())
        self._paths = cache(lambda parts: path(*parts))
        self._inlines = inlines

    def rows(
        self,
        names: Sequence[str],
        files: Sequence[tuple[str, str]],
        lines: Sequence[int],
        offsets: Sequence[int],
        inlined: Sequence[int],
    ) -> list[str]:
        """The line of each of several calls, whose fields are columns."""
        if not self._inlines:  # of one frame
            names, inlined = names[-1:], (False,)
        shown, paths = map(self._names, names), map(self._paths, files)
        ends = "", " [inlined]"
        return [
            f"{name} + {offset} at {path}:{line}{ends[is_inlined]}"
            if name and path and line and offset  # as most have
            else frame_text(name, path, line, offset, inlined=bool(is_inlined)).lstrip()
            for name, path, line, offset, is_inlined in zip(
                shown, paths, lines, offsets, inlined, strict=self._inlines
            )
        ]


def indented(line: str) -> str:
    """Blanks of the width of a text, after the prefix that a log gives its lines."""
    size = prefix_size(line)
    if "\t" not in line:
        return line[:size] + " " * (len(line) - size)
    return line[:size] + _NO_TAB.sub(" ", line[size:])


def call_record(
    call: Frame, shown: Callable[[str], str], path_map: Callable[[str], str]
) -> dict[str, object]:
    """A function at an address as an object of JSON, as reports and the page have it.

    *shown* makes valid text of limited length of a name or a path.
    """
    return {
        "function": shown(call.demangled),
        "file": shown(path_map(call.path)) if call.path else "",
        "line": call.line,
        "offset": hex(call.offset),
        "inlined": call.inlined,
    }


def _frame_record(
    frame: ReportFrame, shown: Callable[[str], str], path_map: Callable[[str], str]
) -> dict[str, object]:
    return {
        "text": frame.text,
        "module": frame.module,
        "address": hex(frame.address),
        "offset": None if frame.offset is None else hex(frame.offset),
        "symbol": shown(frame.symbol),
        "calls": [
            call_record(call, shown, path_map)
            | ({} if source is None else {"source": source._asdict()})
            for call, source in zip_longest(frame.calls, frame.sources)
        ],
        "reason": shown(frame.reason),
        "is_return": frame.is_return,
        "trust": frame.trust,
        "folded": shown(frame.folded),
    }


def _module_record(
    module: ReportModule, shown: Callable[[str], str]
) -> dict[str, object]:
    texts = {
        name: shown(getattr(module, name)) for name in ("name", "reason", "unsure")
    }
    attempts = [
        each._asdict() | {"source": shown(each.source), "detail": shown(each.detail)}
        for each in module.attempts
    ]
    return {**module._asdict(), **texts, "attempts": attempts}
