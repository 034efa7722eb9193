"""`gsym-symbolizer`: llvm-symbolizer's options, protocol and output, from GSYM files.

Each line is answered immediately, as a sanitizer or a profiler may wait for the answer.
"""

from __future__ import annotations

import sys

from gsym.cache import BoundedCache
from gsym.cli.dropins.streams import complain, put, say
from gsym.cli.dropins.symbolizer_addresses import Addresses, output_of
from gsym.cli.dropins.symbolizer_modules import Module, ModuleError, Modules
from gsym.cli.dropins.symbolizer_options import PROGRAM, Options, parse
from gsym.cli.dropins.symbolizer_requests import Request, RequestError, parse_request
from gsym.cli.grammar import UsageError
from gsym.cli.program import EXIT_FAILED, run_program
from gsym.cli.streams import answer_lines
from gsym.cli.terminal import describe, one_line, shortened, standard_input
from gsym.engine.native import to_bytes, to_str

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Callable

    from gsym.cli.dropins.symbolizer_styles import JsonStyle, PlainStyle
    from gsym.formatting.styles import SymbolizerOutput

_MAX_PREFIX = 1 << 13  # bytes, for a path and its surroundings
_MAX_PREFIXES = 256
_LINE_ENDS = {ord("\r"): None, ord("\n"): None}


def main(argv: list[str] | None = None) -> int:
    """Run the command line *argv* (without the program) and return the exit code."""
    return run_program(argv, lambda words: (_run, parse(words)), _report)


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
        # The text before the address, as lines of one module usually differ only in
        # that: the engine answers lines with one, many at a time, and its output is
        # printed unchanged.
        self._known: BoundedCache[bytes, tuple[Module, str]]
        self._known = BoundedCache(_MAX_PREFIXES)
        self._learns = not (options.context_lines or (output.json and output.pretty))

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
        self._style.is_list = True
        say(self._style.begin)
        for at, line in enumerate(lines):
            if at:
                say(self._style.between)
            say(self.answer(line))
        say(self._style.end)

    def answer_standard_input(self) -> None:
        """Answer lines immediately, many at a time if they are available."""
        answer_lines(standard_input().fileno(), self._answer_lines)

    def _answer_lines(self, lines: bytes) -> bytes:
        """Answer all complete lines; return the rest of *lines*."""
        end_of_all = lines.rfind(b"\n") + 1
        view, at = memoryview(lines), 0
        while at < end_of_all:
            end = lines.index(b"\n", at)
            line = lines[at:end].rstrip(b"\r")
            prefix = line[: line.rfind(b" ") + 1]
            known, used = self._known.get(prefix), 0
            if known is not None:
                block = view[at:end_of_all]
                used = self._addresses.answer(*known, prefix, block, put)
            if not used:
                text = to_str(line).translate(_LINE_ENDS)
                put(to_bytes(self.answer(text)))
                used = end + 1 - at
                self._learn(prefix)
            at += used
        return lines[end_of_all:]

    def _learn(self, prefix: bytes) -> None:
        """Let the engine answer lines with this prefix in future, if it can.

        That is, if addresses follow it, and their module is open.
        """
        if not self._learns or prefix in self._known or len(prefix) > _MAX_PREFIX:
            return
        try:
            first, second = (self._request(f"{to_str(prefix)}{n}") for n in (1, 2))
        except RequestError:
            return
        if first.kind != "CODE" or (first.address, second.address) != (1, 2):
            return
        module = self._modules.opened(first.module, first.build_id)
        if module is not None and module.reader is not None:
            self._known.keep(prefix, (module, first.shown_module))

    def _request(self, line: str) -> Request:
        options = self._options
        return parse_request(line, options.obj or "", options.build_id)

    def answer(self, line: str) -> str:
        """The answer to one line, without its end."""
        if not line:
            return self._style.nothing("")  # a client checks whether the program runs
        try:
            request = self._request(line)
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
