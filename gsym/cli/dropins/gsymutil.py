"""`gsymutil`: llvm-gsymutil's options, output and exit codes, without its crashes.

Answers follow LLVM's lookup rules. For lookups, dumps and statistics, standard output
is byte for byte that of version 24; messages of a conversion are similar.
"""

from __future__ import annotations

import sys

from gsym.cli.dropins.gsymutil_options import Options, parse
from gsym.cli.dropins.streams import (
    Failure,
    complain,
    open_reader,
    put,
    reading,
    say,
    say_line,
)
from gsym.cli.grammar import UsageError
from gsym.cli.program import EXIT_FAILED, run_program
from gsym.cli.terminal import describe, one_line

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from gsym.reading.reader import Reader


def main(argv: list[str] | None = None) -> int:
    """Run the command line *argv* (without the program) and return the exit code."""
    return run_program(argv, reading(_run, parse), _complain)


def _complain(error: Exception, _arguments: list[str]) -> int:
    if isinstance(error, Failure):
        reason = one_line(str(error), sys.stderr)
    else:
        reason = str(error) if isinstance(error, UsageError) else describe(error)
    complain(f"{reason}\n")
    return EXIT_FAILED


def _run(options: Options) -> int:
    if options.text("--convert"):
        from gsym.cli.dropins.gsymutil_convert import convert

        return convert(options)
    if options.flag("--addresses-from-stdin"):
        from gsym.cli.dropins.gsymutil_lookup import answer_standard_input

        return answer_standard_input(options)
    for path in options.inputs:
        with open_reader(path, len(options.addresses)) as reader:
            _show(reader, path, options)
    return 0


def _show(reader: Reader, path: str, options: Options) -> None:
    if options.statistics is not None:
        from gsym.cli.dropins.gsymutil_statistics import as_json, as_text
        from gsym.reading.statistics import measure

        found = measure(reader)
        if options.statistics == "text":
            say(as_text(found, one_line(path, sys.stdout)))
        else:
            say(as_json(found, path, pretty=options.statistics == "pretty-json"))
    elif options.benchmark is not None:
        from gsym.cli.dropins.gsymutil_lookup import benchmark

        benchmark(reader, path, *options.benchmark)
    elif options.addresses:
        from gsym.cli.dropins.gsymutil_lookup import Answers

        say_line(f'Looking up addresses in "{path}":')
        put(Answers(reader, options).to(options.addresses))
    else:
        from gsym.formatting.gsymutil import LlvmText

        for block in LlvmText(reader, escape=sys.stdout.isatty()).dump():
            put(block)


if __name__ == "__main__":
    sys.exit(main())
