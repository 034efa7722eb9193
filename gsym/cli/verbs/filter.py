"""`gsym filter`: a log with symbolizer markup -> a log with symbols."""

from __future__ import annotations

import sys
from contextlib import ExitStack

from gsym.cli.log_input import IDLE, IDLE_AFTER, log_pieces
from gsym.cli.options import Command, Operand, Option, UsageError
from gsym.cli.program import EXIT_INTERRUPTED
from gsym.cli.terminal import escape_for_output, let_colours_through, printable
from gsym.cli.verbs.filter_sources import MODULE_OPTIONS, PLACES, open_modules
from gsym.cli.verbs.filter_words import CHOICES, read_words
from gsym.markup.filter import MarkupFilter
from gsym.markup.outputs import WrittenOutput
from gsym.markup.settings import FilterSettings
from gsym.markup.styles import STYLES
from gsym.markup.symbols import FUNCTION_NAMES, SymbolOptions

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from gsym.cli.options import Values
    from gsym.cli.verbs.filter_dumps import DumpHandler, DumpList
    from gsym.markup.outputs import Output
    from gsym.markup.styles import Style

COMMAND = Command(
    "gsym filter",
    "Replace symbolizer markup in a log by symbols",
    (
        Operand(
            "LOG",
            "logs, also compressed by gzip or zstd; - for standard input, as without",
            many=True,
            required=False,
        ),
    ),
    (
        Option(
            "--style",
            "rules to follow: spec (default), llvm, fuchsia",
            metavar="STYLE",
        ),
        *MODULE_OPTIONS,
        Option(
            "--color",
            "colours: always, auto (default: on a terminal) or never, which also "
            "removes those of the log; without WHEN: always",
            metavar="WHEN",
        ),
        Option(
            "--functions",
            "names of functions: none, short, linkage (default)",
            short="-f",
            metavar="KIND",
        ),
        Option("--inlines", "frames of inlined calls (default)", short="-i"),
        Option("--no-inlines", "no frames of inlined calls; not in style llvm"),
        Option("--demangle", "names as people write them (default)", short="-C"),
        Option("--no-demangle", "names of functions as the linker knows them"),
        Option("--basenames", "files without their folders", short="-s"),
        Option("--relativenames", "files whole, for GSYM files hold no other paths"),
        Option(
            "--context",
            "lines on what is loaded: summary (default), elide, keep",
            metavar="HOW",
        ),
        Option(
            "--hexdict",
            "what is at the values of a dictionary: notes behind it, inline, plain "
            "(on a page: on hover), off; alone: notes",
            metavar="HOW",
        ),
        Option(
            "--dumpfile", "show dumps also in style llvm, as all options on them do"
        ),
        Option("--dumpfile-output", "write all dumps as a JSON list", metavar="FILE"),
        Option(
            "--sancov",
            "folder of the .sancov files that a log names: their points are "
            "symbolized into NAME.txt",
            metavar="DIR",
        ),
        Option(
            "--demux",
            "pattern of what tells the process of a line; each has modules of its own",
            metavar="REGEX",
        ),
        Option(
            "--join",
            "pattern of what begins a line that is a part of the one before",
            metavar="REGEX",
        ),
        Option("--json", "print one JSON object for each element"),
        Option(
            "--format",
            "text (default), json (as --json), html: a page that shows details on "
            "hover",
            metavar="FORM",
        ),
        Option("--summary", "tell what was not resolved at the end (default)"),
        Option("--no-summary", "do not; the default in style llvm"),
    ),
    """\
What is not markup passes as it is. Modules are found by build id: in folders as
.build-id/ab/cdef.gsym, ab/cdef.gsym, abcdef.gsym or the same with .debug, and with
--gsym-dir under any name; then in the store. What is no GSYM file is converted and
kept. docs/markup.md lists the rules of each style.

  gsym filter --gsym-dir build crash.log.gz          a log, symbols from binaries
  tail -f app.log | gsym filter --gsym-dir build     one that grows
  gsym filter --demux '^\\[(\\d+)\\]' all.log           lines [PID] of many processes
  gsym filter --format=html crash.log > crash.html   a page""",
)

_ON_DUMPS = ("--dumpfile-output", "--sancov")


def run(arguments: list[str]) -> int:
    """Filter all logs; how much is resolved makes no difference to the exit code."""
    words, notes = read_words(arguments, COMMAND.options)
    values = COMMAND.parse(words)
    style = STYLES[_choice(values, "--style", ("spec", *STYLES))]
    form = _form(values)
    dumps = _dump_handler(values)
    try:
        log_filter = MarkupFilter(
            open_modules(values, style),
            symbols=_symbol_options(values, words, style),
            settings=_settings(values, style, form, dumps),
            tell=tell_fault,
            output=_output(form),
            demux=values.text("--demux"),
            join=values.text("--join"),
        )
    except ValueError as error:
        raise UsageError(str(error)) from None
    if _last_of(words, "--relativenames", "--basenames", default=False):
        notes.append("--relativenames: GSYM files hold whole paths; they are shown so")
    with ExitStack() as stack:
        path = values.text("--dumpfile-output")
        if dumps is not None and path is not None:
            dumps.kept = stack.enter_context(_dump_list(path))
        for note in notes:
            _tell(note)
        if _last_of(words, "--summary", "--no-summary", default=style.name != "llvm"):
            is_told_where = any(map(values.texts, PLACES))
            stack.callback(_tell_summary, log_filter, is_told_where=is_told_where)
        if form == "html":
            stack.callback(_end_page)
        is_stopped = filter_log(log_filter, values.operands("LOG"))
    return EXIT_INTERRUPTED if is_stopped else 0


def filter_log(log_filter: MarkupFilter, paths: Sequence[str]) -> bool:
    """Print what a filter makes of logs, as soon as it is certain.

    Returns:
        Whether somebody interrupted it, as one does who follows a log: that is its end.
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
    finally:  # what was kept back comes also where the rest cannot be read
        put.write(log_filter.finish())
        put.flush()
    return is_stopped


def _form(values: Values) -> str:
    form = _choice(values, "--format", ("text", "json", "html"))
    if values.flag("--json"):
        if values.text("--format") not in {None, "json"}:
            raise UsageError(f"option '--json' excludes '--format={form}'")
        return "json"
    return form


def _choice(values: Values, name: str, known: Sequence[str]) -> str:
    """The value of an option; the first of *known* where it is not given."""
    value = values.text(name)
    if value is None:
        return known[0]
    if value not in known:
        words = ", ".join(dict.fromkeys(known))
        raise UsageError(f"option '{name}': choose one of {words}")
    return value


def _last_of(words: Sequence[str], yes: str, no: str, *, default: bool = True) -> bool:
    """Which of two options came last."""
    for word in reversed(words):
        if word in {yes, no}:
            return word == yes
    return default


def _symbol_options(
    values: Values, words: Sequence[str], style: Style
) -> SymbolOptions:
    inlines = _last_of(words, "--inlines", "--no-inlines")
    return SymbolOptions(
        functions=_choice(values, "--functions", FUNCTION_NAMES),
        inlines=inlines or style.name == "llvm",
        demangle=_last_of(words, "--demangle", "--no-demangle"),
        basenames=_last_of(words, "--basenames", "--relativenames", default=False),
        escape=escape_for_output(),
    )


def _settings(
    values: Values, style: Style, form: str, dumps: DumpHandler | None
) -> FilterSettings:
    hexdict = values.text("--hexdict")
    if hexdict is not None:
        _choice(values, "--hexdict", CHOICES["--hexdict"])
        added = frozenset() if hexdict == "off" else {b"hexdict"}
        style = style._replace(elements=style.elements - {b"hexdict"} | added)
    if any(map(values.texts, _ON_DUMPS)) or values.flag("--dumpfile"):
        style = style._replace(elements=style.elements | {b"dumpfile"})
    when = _choice(values, "--color", ("auto", "always", "never"))
    is_coloured = when == "always" or (when == "auto" and sys.stdout.isatty())
    settings = FilterSettings(
        style=style,
        colour=is_coloured and form == "text",
        # Objects contain columns of the original line, and not its text.
        keeps_colours=when != "never" or form == "json",
        context=_choice(values, "--context", ("summary", "elide", "keep")),
        hexdict=hexdict or ("plain" if form == "html" else "notes"),
    )
    return settings if dumps is None else settings._replace(on_dump=dumps)


def _dump_handler(values: Values) -> DumpHandler | None:
    """What takes dumps; None where nothing shall be done with them."""
    if not any(map(values.texts, _ON_DUMPS)):
        return None
    from gsym.cli.verbs.filter_dumps import DumpHandler

    return DumpHandler(coverage=values.text("--sancov") or "", tell=_tell)


def _dump_list(path: str) -> DumpList:
    from gsym.cli.verbs.filter_dumps import DumpList

    return DumpList(path)


def _output(form: str) -> Output:
    if form == "json":
        from gsym.markup.json_output import JsonOutput

        return JsonOutput(sys.stdout.buffer.write)
    if form == "html":
        from gsym.markup.html_output import HtmlOutput

        return HtmlOutput(sys.stdout.buffer.write)
    return WrittenOutput(sys.stdout.buffer.write)


def tell_fault(message: bytes) -> None:
    """A message of the filter, behind what was printed before."""
    sys.stdout.buffer.flush()
    sys.stderr.buffer.write(message)
    sys.stderr.buffer.flush()


def _end_page() -> None:
    """End a page, also one of a log that could not be read to its end."""
    from gsym.markup.html_output import HTML_END

    sys.stdout.buffer.write(HTML_END)


def _tell_summary(log_filter: MarkupFilter, *, is_told_where: bool) -> None:
    sys.stdout.buffer.flush()
    lines = log_filter.summary()
    for line in lines:
        _tell(line)
    if lines and not is_told_where:
        _tell("--gsym-dir DIR says where binaries, debug files or GSYM files are")


def _tell(sentence: str) -> None:
    print(f"gsym: {printable(sentence)}", file=sys.stderr)
