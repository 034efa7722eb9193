"""`gsym-symbolizer`: llvm-symbolizer's options, protocol and output, from GSYM files.

Each line is answered immediately, as a sanitizer or a profiler may wait for the answer.
"""

from __future__ import annotations

import sys

from gsym.cli.dropins.streams import complain, reading, say
from gsym.cli.dropins.symbolizer_addresses import Addresses, output_of
from gsym.cli.dropins.symbolizer_modules import Module, ModuleError, Modules
from gsym.cli.dropins.symbolizer_options import PROGRAM, Options, parse
from gsym.cli.dropins.symbolizer_requests import Request, RequestError, parse_request
from gsym.cli.grammar import UsageError
from gsym.cli.program import EXIT_FAILED, run_program
from gsym.cli.streams import answer_lines
from gsym.cli.terminal import describe, one_line, shortened, standard_input

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Callable

    from gsym.cli.dropins.symbolizer_styles import JsonStyle, PlainStyle
    from gsym.formatting.symbolizer import SymbolizerOutput


def main(argv: list[str] | None = None) -> int:
    """Run the command line *argv* (without the program) and return the exit code."""
    return run_program(argv, reading(_run, parse), _report)


def _report(error: Exception, _arguments: list[str]) -> int:
    is_complete = isinstance(error, UsageError)
    complain(str(error) if is_complete else f"{PROGRAM}: error: {describe(error)}\n")
    return EXIT_FAILED


def _run(options: Options) -> int:
    for hint in options.texts("--dsym-hint"):
        if not hint.endswith(".dSYM"):
            reason = "(must have the '.dSYM' extension)"
            complain(f'Warning: invalid dSYM hint: "{hint}" {reason}.\n')
    if options.flag("--filter-markup"):
        from gsym.cli.dropins.symbolizer_markup import filter_markup

        filter_markup(options)
        return 0
    session = _Session(options)
    if options.obj is not None and not session.open_first(options.obj):
        return EXIT_FAILED
    if options.inputs:
        session.answer_all(options.inputs)
    else:
        session.answer_standard_input()
    return 0


class _Session:
    """Answers lines in the chosen style."""

    def __init__(self, options: Options) -> None:
        self._options = options
        self._modules = Modules(options, _warn)
        output = output_of(options)
        self._style = _style(options, output)
        self._addresses = Addresses(output, options.context_lines)

    def open_first(self, name: str) -> bool:
        """Open the module of the command line; report an error and return False."""
        try:
            self._modules.open(name, b"")
        except ModuleError as error:
            say(self._fail(Request("CODE", name, b"", "", 0), str(error)) or "")
            return False
        return True

    def answer_all(self, lines: list[str]) -> None:
        """Print the answers to the requests on the command line."""
        say(self._style.begin())
        for at, line in enumerate(lines):
            if at:
                say(self._style.between)
            say(self.answer(line))
        say(self._style.end())

    def answer_standard_input(self) -> None:
        """Answer lines immediately, many at a time if they are available."""
        source = standard_input().fileno()
        from gsym.cli.dropins.symbolizer_streams import LineStream

        put = sys.stdout.buffer.write
        stream = LineStream(
            self._options, self._modules, self._addresses, self.answer, put
        )
        answer_lines(source, stream.answer)

    def answer(self, line: str) -> str:
        """The answer to one line, without its end."""
        options = self._options
        if not line:
            return self._style.nothing("")  # a client checks whether the program runs
        try:
            request = parse_request(line, options.obj or "", options.build_id)
        except RequestError as error:
            _warn(f"'{shortened(line)}': {error}")
            return self._style.nothing(error.module)
        try:
            module = self._modules.open(request.module, request.build_id)
        except ModuleError as error:
            failure = self._fail(request, str(error))
            if failure is not None:
                return failure
            module = None
        return self._answer(request, module)

    def _answer(self, request: Request, module: Module | None) -> str:
        style = self._style
        if request.kind == "DATA":
            symbol = None if module is None else module.data(request.address)
            return style.data(request, symbol)
        if request.kind == "FRAME":
            return style.variables(request)
        if request.symbol:
            found = []
            if module is not None:
                starts = module.symbol(request.symbol, request.address)
                found = self._addresses.locations(module, starts)
            return style.symbols(request, found)
        if module is None:
            return style.frames(request, None)
        shown_module = request.shown_module
        answer = self._addresses.one(module, shown_module, request.address)
        return style.frames(request, answer)

    def _fail(self, request: Request, reason: str) -> str | None:
        """Report that a module cannot be read; return the style's answer, if any."""
        answer = self._style.failure(request, reason)
        if answer is None:
            _warn(f"'{shortened(request.shown_module)}': {reason}")
        return answer


def _style(options: Options, output: SymbolizerOutput) -> PlainStyle | JsonStyle:
    from gsym.cli.dropins.symbolizer_styles import JsonStyle, PlainStyle

    name_of: Callable[[str], str] = str
    if options.demangle:
        from gsym.engine.demangling import demangle as name_of
    return (JsonStyle if output.json else PlainStyle)(output, name_of)


def _warn(sentence: str) -> None:
    """Write a message to standard error, after the previous answers."""
    sys.stdout.buffer.flush()
    complain(f"{PROGRAM}: error: {one_line(sentence, sys.stderr)}\n")


if __name__ == "__main__":
    sys.exit(main())
