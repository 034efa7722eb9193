"""Stacks in a log as it grows, for `gsym filter`: answered as those of a report are."""

from __future__ import annotations

from gsym.arguments import refusal
from gsym.cache import BoundedCache
from gsym.engine.native import to_bytes, to_str
from gsym.errors import GsymError
from gsym.markup.failures import doubt
from gsym.markup.stack_lines import AnsweredStack
from gsym.markup.symbols import call_fields, function_name
from gsym.memory.stack_parts import NO_LIMITS, StackBuilder
from gsym.model import join_path
from gsym.reports.link_addresses import NO_NAMES
from gsym.reports.report import CallLines, indented

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    from gsym.markup.symbols import SymbolOptions
    from gsym.memory.report_modules import ReportModules
    from gsym.memory.stack_parts import ParsedReport, StackModule
    from gsym.modules.open_module import OpenModule
    from gsym.reports.report import Report, ReportFrame

_MOST_OPEN = 1_000
_MOST_COUNTS = 4_096


class LogStacks:
    """Answers the stacks of a log that are not markup."""

    def __init__(
        self, open_modules: Callable[[], ReportModules], options: SymbolOptions
    ) -> None:
        if not callable(open_modules):
            raise refusal("open_modules", "a function", open_modules)
        self._open_modules = open_modules
        self._modules: ReportModules | None = None
        self._options = options
        self._opened: BoundedCache[StackModule, OpenModule] = BoundedCache(_MOST_OPEN)
        self._unknown: dict[tuple[str, str], int] = {}
        self._unsure: dict[str, None] = {}  # sentences

    def begin(
        self, before: bytes, prefix_of: Callable[[bytes], bytes]
    ) -> Callable[[bytes], AnsweredStack]:
        """See `gsym.markup.stack_lines.StackAnswers`."""
        # Most logs have no such stack, and the patterns of all forms take long to load.
        from gsym.reports.stacks.line_reader import LineReader

        limits = NO_LIMITS._replace(modules=_MOST_OPEN, images=_MOST_OPEN)
        stack = StackBuilder(limits)
        reader = LineReader(stack, is_log=True)
        reader.read((), _lines(before))

        def indent(line: str) -> str:
            prefix = to_str(prefix_of(to_bytes(line)))
            return prefix + indented(line[len(prefix) :])

        def answer(lines: bytes) -> AnsweredStack:
            reader.read(_lines(lines))
            try:
                return self._answer(stack.take(), indent)
            except (GsymError, OSError) as error:  # a file is damaged; the log goes on
                self._count_unknown("?", str(error))
                return AnsweredStack(lines, ())

        return answer

    def close(self) -> None:
        """Close the connections to servers."""
        if self._modules is not None:
            self._modules.close()

    def summary(self) -> list[str]:
        """A sentence about unresolved frames for each module."""
        return [
            f"{count} unresolved in '{name}': {reason}"
            for (name, reason), count in self._unknown.items()
        ]

    def doubts(self) -> list[str]:
        """A sentence about each module whose file may be of another build."""
        return list(self._unsure)

    def _answer(
        self, parsed: ParsedReport, indent: Callable[[str], str]
    ) -> AnsweredStack:
        from gsym.reports.report_work import ReportWork

        work = ReportWork(parsed)
        work.open_by(self._open)
        report = work.answer().with_records()
        self._count(report)
        lines = CallLines(self._name, self._path, inlines=self._options.inlines)
        text = "".join(report.texts(indent, lines))
        return AnsweredStack(to_bytes(text), tuple(self._places(report)))

    def _open(self, named: StackModule) -> OpenModule:
        found = self._opened.get(named)
        if found is None or found.is_old_miss:
            if self._modules is None:
                self._modules = self._open_modules()
            found = self._opened.keep(named, self._modules.open(named))
        return found

    def _count(self, report: Report) -> None:
        for frame in report.frames():
            is_named = frame.symbol not in NO_NAMES
            if frame.calls or is_named or frame.module < 0:
                continue
            self._count_unknown(report.modules[frame.module].name, frame.reason)
        for module in report.modules:
            if module.unsure and len(self._unsure) < _MOST_COUNTS:
                self._unsure[doubt(module.name, module.unsure, module.path)] = None

    def _count_unknown(self, name: str, reason: str) -> None:
        key = name, reason
        if key in self._unknown or len(self._unknown) < _MOST_COUNTS:
            self._unknown[key] = self._unknown.get(key, 0) + 1

    def _name(self, name: str) -> str:
        return to_str(function_name(to_bytes(name), self._options))

    def _path(self, directory: str, filename: str) -> str:
        path = join_path("" if self._options.basenames else directory, filename)
        escape = self._options.escape
        return path if escape is None else to_str(escape(to_bytes(path)))

    def _places(self, report: Report) -> Iterator[tuple[int, int, dict[str, Any]]]:
        """Line of each frame, the bytes before it there, and its description."""
        at = column = 0
        for part in report.parts:
            if isinstance(part, str):
                text = part
            else:
                frame = report.threads[part[0]].frames[part[1]]
                yield at, column, self._record(report, frame)
                text = frame.text
            at += text.count("\n")
            rest = to_bytes(text.rpartition("\n")[2])
            column = len(rest) + (0 if "\n" in text else column)

    def _record(self, report: Report, frame: ReportFrame) -> dict[str, Any]:
        module = report.modules[frame.module] if frame.module >= 0 else None
        record: dict[str, Any] = {
            "text": frame.text,
            "module": module and module.name,
            "build_id": module.code_id.lower() if module else "",
            "frames": [
                call_fields(
                    self._name(call.name),
                    self._path(call.directory, call.filename),
                    call.line,
                )
                for call in frame.calls
            ],
        }
        if module is not None and module.unsure:
            record["unsure"] = module.unsure
        return record if frame.calls else record | {"reason": frame.reason}


def _lines(text: bytes) -> list[str]:
    # Of bytes, since texts have more line ends.
    return [to_str(line) for line in text.splitlines(keepends=True)]
