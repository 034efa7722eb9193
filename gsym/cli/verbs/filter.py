"""`gsym filter`: symbolize a log with symbolizer markup."""

from __future__ import annotations

import os
import sys
from contextlib import ExitStack

from gsym.cli import options
from gsym.cli.grammar import (
    GSYM,
    Command,
    Option,
    UsageError,
    scan_getopt,
    scan_llvm,
    usage_errors,
)
from gsym.cli.program import EXIT_INCOMPLETE, EXIT_INTERRUPTED
from gsym.cli.streams import IDLE, IDLE_AFTER, log_pieces
from gsym.cli.terminal import (
    describe,
    escape_for_output,
    let_colours_through,
    tell,
)
from gsym.cli.verbs.module_options import FILES, module_options, open_folders
from gsym.engine.native import to_bytes
from gsym.errors import GsymError
from gsym.lazy import json
from gsym.markup.dumps import coverage_lines, dump_record
from gsym.markup.filter import MarkupFilter
from gsym.markup.outputs import Output
from gsym.markup.settings import STYLES, FilterSettings, Style
from gsym.markup.symbols import SymbolOptions
from gsym.reports.log_stacks import LogStacks
from gsym.writing.atomic_file import AtomicFile

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from typing_extensions import Self

    from gsym.cli.grammar import Scanned, Values
    from gsym.markup.address_space import AddressSpace
    from gsym.markup.parser import DumpFile
    from gsym.markup.remote_symbols import Asking
    from gsym.markup.symbols import Opening, Symbols
    from gsym.memory.report_modules import ReportModules

_ON_DUMPS = ("--dumpfile-output", "--sancov")
# Options of llvm-symbolizer -> ours.
_OF_LLVM = {
    "--fallback-debug-path": "--debug-file-directory",
    "--gsym-file-directory": "--gsym-dir",
}

_MODULE_OPTIONS = f"""\
{module_options("; in style llvm: none")}
--server URL  URL of a symbolication server that looks up all addresses, instead of
  local files
{options.HEADER}"""
# Options that name locations of modules.
_PLACES = (*FILES, "--debuginfod", "--server")


def _scan_words(words: Sequence[str], known: Sequence[Option]) -> Scanned:
    """Scan a command line; in style llvm, by the rules of llvm-symbolizer."""
    styles = [
        following if word == "--style" else word.removeprefix("--style=")
        for word, following in zip(words, [*words[1:], ""], strict=False)
        if word == "--style" or word.startswith("--style=")
    ]
    if styles[-1:] == ["llvm"]:
        return _scan_as_llvm(words, {option.name: option for option in known})
    return scan_getopt(words, known, GSYM)


def _scan_as_llvm(words: Sequence[str], own: dict[str, Option]) -> Scanned:
    """Scan as llvm-symbolizer does; options without effect on a filter are ignored."""
    from gsym.cli.dropins.symbolizer_options import OPTIONS

    foreign = {option.name for option in OPTIONS}
    known = (*OPTIONS, *(each for name, each in own.items() if name not in foreign))
    end = words.index("--") if "--" in words else len(words)
    errors: list[str] = []
    last: list[tuple[Option, str]] = []  # those that take precedence
    alone: Option | None = None  # the option before, if it had no value
    for option, value in scan_llvm(words[:end], known, errors):
        before, alone = alone, None
        if option is None:
            if before is None or value not in before.choices:
                yield None, value
            elif before.name not in foreign:
                yield before, value
            continue
        name = _OF_LLVM.get(option.name, option.name)
        if name in own and option.optional and value == option.optional:
            alone = own[name]
            last.append((alone, alone.optional or ""))
            if name not in foreign:
                yield last.pop()
        elif name in own:
            yield own[name], value or "yes"
    if errors:
        raise UsageError(errors[0])
    yield from last
    yield from ((None, word) for word in words[end + 1 :])


@Command(
    "gsym filter",
    (
        """\
[LOG...]  log, plain or compressed; - is standard input (default)
--style STYLE {spec|llvm|fuchsia}  rules to follow: spec (default), llvm, fuchsia""",
        _MODULE_OPTIONS,
        options.COLOR,
        """\
-f, --functions[=KIND] {linkage|short|none}  names of functions: none, short, linkage
  (default)
-i, --inlines  show frames of inlined calls (default)
--no-inlines  omit frames of inlined calls; not in style llvm""",
        options.DEMANGLE,
        """\
-s, --basenames  print paths without folders
--relativenames  ignored: GSYM files have complete paths
--context HOW {summary|elide|keep}  lines about loaded modules: summary (default),
  elide, keep
--hexdict[=HOW] {notes|inline|plain|off}  symbols of the values in a {{{hexdict}}}:
  notes (lines after it), inline, plain (on a page: on hover), off; without HOW: notes
--dumpfile  show each {{{dumpfile}}} in style llvm, too; implied by the next options
--dumpfile-output FILE  write all dumps as a JSON list
--sancov DIR  folder of the .sancov files that a log names: their points are symbolized
  into NAME.txt
--demux REGEX  regular expression with a group for the process of a line; each process
  has its own modules
--join REGEX  regular expression for the beginning of a line that continues the line
  before""",
        options.JSON,
        """\
--to FORMAT {text|json|html}  format: text (default), json (as --json), html: a page
  that shows details on hover
--summary  report unresolved addresses at the end (default)
--no-summary  omit that report (default in style llvm)""",
        options.STRICT,
    ),
    """\
Stacks without markup (of sanitizers, backtrace(), coredumpctl) are symbolized as by
'gsym symbolicate' in style spec. Other text passes unchanged. Modules are found by
build id: in folders as .build-id/ab/cdef.gsym, ab/cdef.gsym, abcdef.gsym or the same
with .debug, and with --gsym-dir under any name; then in the store; then at the path in
the log. Other files are converted, and the result is cached. docs/markup.md lists the
rules of each style.

  gsym filter --gsym-dir build crash.log.gz        a log, symbols from binaries
  tail -f app.log | gsym filter --gsym-dir build   one that grows
  gsym filter --demux '^\\[(\\d+)\\]' all.log         lines [PID] of many processes
  gsym filter --to html crash.log > crash.html     a page""",
    scan=_scan_words,
)
def filter_logs(values: Values) -> int:
    """Filter all logs; unresolved addresses affect the exit code under STRICT alone."""
    style = STYLES[values.chosen("--style")]
    form = _form(values)
    dumps = None
    if any(map(values.texts, _ON_DUMPS)):
        dumps = DumpHandler(coverage=values.text("--sancov") or "", tell=_print)
    inlines = values.last_of("--inlines", "--no-inlines", default=True)
    symbols = SymbolOptions(
        functions=values.chosen("--functions"),
        inlines=inlines or style.name == "llvm",
        demangle=values.last_of("--demangle", "--no-demangle", default=True),
        basenames=values.last_of("--basenames", "--relativenames", default=False),
        escape=escape_for_output(),
    )
    with usage_errors():
        stacks = _open_stacks(values, style, symbols)
        log_filter = MarkupFilter(
            _open_modules(values, style),
            symbols=symbols,
            settings=_settings(values, style, form, dumps),
            tell=print_message,
            output=_output(form),
            demux=values.text("--demux"),
            join=values.text("--join"),
            stacks=stacks,
        )
    with ExitStack() as stack:
        if stacks is not None:
            stack.callback(stacks.close)
        path = values.text("--dumpfile-output")
        if dumps is not None and path is not None:
            dumps.kept = stack.enter_context(DumpList(path))
        if values.last_of("--relativenames", "--basenames", default=False):
            _print("--relativenames is ignored: GSYM files have complete paths")
        if values.last_of("--summary", "--no-summary", default=style.name != "llvm"):
            has_locations = any(map(values.texts, _PLACES))
            stack.callback(_print_summary, log_filter, has_locations=has_locations)
        if form == "html":
            stack.callback(_end_page)
        is_stopped = filter_log(log_filter, values.operands("LOG"))
    if is_stopped:
        return EXIT_INTERRUPTED
    is_complete = not log_filter.summary() and not log_filter.doubts()
    return 0 if is_complete or not values.flag("--strict") else EXIT_INCOMPLETE


def _open_modules(values: Values, style: Style) -> Opening | Asking:
    sources = _sources(values, style)
    url = values.text("--server")
    if url is not None:
        return _server(url, values, is_alone=not sources)
    return open_folders(values, sources, is_local=style.name != "llvm")


def _open_stacks(
    values: Values, style: Style, symbols: SymbolOptions
) -> LogStacks | None:
    """The answers to stacks of a log that are not markup; None with a server."""
    if values.text("--server") is not None or style.name != "spec":
        return None
    folders = values.texts("--gsym-dir") + values.texts("--debug-file-directory")
    existing = filter(os.path.isdir, folders)
    sources = [*existing, *_sources(values, style)]

    def open_modules() -> ReportModules:  # most logs need none
        from gsym.memory.report_modules import ReportModules

        return ReportModules(sources, store=values.text("--store"))

    return LogStacks(open_modules, symbols)


def _sources(values: Values, style: Style) -> list[str]:
    sources = values.texts("--source")
    if values.flag("--debuginfod") and not values.flag("--no-debuginfod"):
        sources += _debuginfod(style)
    return sources


def _debuginfod(style: Style) -> list[str]:
    """The debuginfod servers as a source.

    Without any, llvm-symbolizer ignores the option.
    """
    if style.name == "llvm":
        from gsym.conversion.companions.debuginfod_settings import read_settings

        if not read_settings(os.environ).servers:
            return []
    return ["debuginfod"]


def _server(url: str, values: Values, *, is_alone: bool) -> Asking:
    if not is_alone or any(map(values.texts, FILES)):
        names = "', '".join((*FILES, "--debuginfod"))
        raise UsageError(f"option '--server' excludes '{names}'")
    from gsym.api.client.remote_symbolizer import RemoteSymbolizer
    from gsym.api.client.symbolication_client import ClientSettings, SymbolicationClient

    # Do not delay a log for long if the server is unavailable.
    settings = ClientSettings(headers=options.read_headers(values), waits=(0.0, 1.0))
    return RemoteSymbolizer(SymbolicationClient(url, settings), url)


def filter_log(log_filter: MarkupFilter, paths: Sequence[str]) -> bool:
    """Print filtered logs, line by line, then which modules may be another build.

    Returns:
        Whether it was interrupted, which is how following a log ends.
    """
    let_colours_through()
    put, is_stopped, silence = sys.stdout.buffer, False, 0.0
    try:
        for piece in log_pieces(paths):
            if piece == IDLE:
                silence += IDLE_AFTER
                put.write(log_filter.idle(silence))
            else:
                silence = 0.0
                put.write(log_filter.feed(piece))
            put.flush()
    except KeyboardInterrupt:
        is_stopped = True
    finally:  # print pending output even after an error
        put.write(log_filter.finish())
        put.flush()
        for line in log_filter.doubts():
            _print(line)
    return is_stopped


def _form(values: Values) -> str:
    form = values.chosen("--to")
    if values.flag("--json"):
        if values.choice("--to") not in {None, "json"}:
            raise UsageError(f"option '--json' excludes '--to {form}'")
        return "json"
    return form


def _settings(
    values: Values, style: Style, form: str, dumps: DumpHandler | None
) -> FilterSettings:
    hexdict = values.choice("--hexdict")
    if hexdict is not None:
        added = frozenset() if hexdict == "off" else {b"hexdict"}
        style = style._replace(elements=style.elements - {b"hexdict"} | added)
    if any(map(values.texts, _ON_DUMPS)) or values.flag("--dumpfile"):
        style = style._replace(elements=style.elements | {b"dumpfile"})
    when = values.chosen("--color")
    is_colored = options.uses_color(
        when, is_terminal=sys.stdout.isatty(), environment=os.environ
    )
    settings = FilterSettings(
        style=style,
        colour=is_colored and form == "text",
        # Objects contain columns of the original line, and not its text.
        keeps_colours=when != "never" or form == "json",
        context=values.chosen("--context"),
        hexdict=hexdict or ("plain" if form == "html" else "notes"),
    )
    return settings if dumps is None else settings._replace(on_dump=dumps)


def _output(form: str) -> Output:
    if form == "json":
        from gsym.markup.json_output import JsonOutput

        return JsonOutput(sys.stdout.buffer.write)
    if form == "html":
        from gsym.markup.html_output import HtmlOutput

        return HtmlOutput(sys.stdout.buffer.write)
    return Output(sys.stdout.buffer.write)


def print_message(message: bytes) -> None:
    """Print a message of the filter, after the output so far."""
    sys.stdout.buffer.flush()
    sys.stderr.buffer.write(message)
    sys.stderr.buffer.flush()


def _end_page() -> None:
    """End a page, even after an error."""
    from gsym.markup.html_output import HTML_END

    sys.stdout.buffer.write(HTML_END)


def _print_summary(log_filter: MarkupFilter, *, has_locations: bool) -> None:
    sys.stdout.buffer.flush()
    lines = log_filter.summary()
    for line in lines:
        _print(line)
    if lines and not has_locations:
        _print(
            "use --gsym-dir DIR to name folders of binaries, debug files or GSYM files"
        )


def _print(sentence: str) -> None:
    tell(f"gsym: {sentence}")


_MOST_COVERAGE = 1 << 28  # bytes of a file


class DumpList:
    """A JSON list of dumps, complete at the end of its `with` block."""

    def __init__(self, path: str) -> None:
        self._file = AtomicFile(path)
        self._between = "["

    def __enter__(self) -> Self:
        self._file.__enter__()
        return self

    def add(self, record: dict[str, Any]) -> None:
        """Append a dump."""
        self._put(f"{self._between}\n{json.dumps(record)}")
        self._between = ","

    def __exit__(self, kind: type[BaseException] | None, *raised: object) -> None:
        if kind is None:
            self._put("[]\n" if self._between == "[" else "\n]\n")
        self._file.__exit__(kind, *raised)

    def _put(self, text: str) -> None:
        self._file.write(text.encode("utf-8", "replace"))


class DumpHandler:
    """Handles the dumps of a log.

    The points of .sancov files in *coverage* are written beside them.
    """

    def __init__(self, *, coverage: str, tell: Callable[[str], object]) -> None:
        self.kept: DumpList | None = None  # the list of all dumps, or None
        self._coverage = coverage
        self._tell = tell

    def __call__(
        self, dump: DumpFile, space: AddressSpace, symbols: Symbols
    ) -> bytes | None:
        """The text that replaces the element; None to show the element."""
        if self.kept is not None:
            self.kept.add(dump_record(dump, space))
        if self._coverage and dump.kind == "sancov":
            return self._symbolize(dump, space, symbols)
        return None

    def _symbolize(
        self, dump: DumpFile, space: AddressSpace, symbols: Symbols
    ) -> bytes | None:
        name = dump.name
        is_within = name == os.path.basename(name) and name not in {"", ".", ".."}
        if not is_within or "\0" in name:
            self._tell(f"invalid dump name '{name}'")
            return None
        path = os.path.join(self._coverage, name)
        try:
            with open(path, "rb") as file:
                data = file.read(_MOST_COVERAGE)
            count = 0
            with AtomicFile(f"{path}.txt") as output:
                for line in coverage_lines(data, space, symbols):
                    output.write(to_bytes(f"{line}\n"))
                    count += 1
        except (GsymError, OSError) as error:
            self._tell(describe(error))
            return None
        return to_bytes(f"[[[sancov: {count} points in {path}.txt]]]")
