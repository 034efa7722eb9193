"""`gsym trace record`: runs a Python program and writes a trace of it."""

from __future__ import annotations

import atexit
import locale
import os
import signal
import sys

from gsym.cli.grammar import Command, Operand, Option, UsageError
from gsym.cli.options import output_option
from gsym.cli.terminal import unguard_terminals
from gsym.errors import GsymError
from gsym.trace.recording.program import FunctionCalls, run_module, run_script
from gsym.trace.recording.tracer import Tracer
from gsym.trace.selection import parse_moment

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gsym.cli.grammar import Values


@Command(
    "gsym trace record",
    (
        Operand("SCRIPT", "Python program to run; none with -m", required=False),
        Operand("ARGUMENT", "argument of the program", many=True, required=False),
    ),
    (
        output_option("output file (default: trace.fxt)"),
        Option(
            "--module",
            "run a module, as python -m does",
            short="-m",
            metavar="MODULE",
            is_last=True,
        ),
        Option(
            "--only",
            "only functions of modules or packages with this name",
            metavar="PATTERN",
            repeatable=True,
        ),
        Option(
            "--without",
            "no functions of modules or packages with this name",
            metavar="PATTERN",
            repeatable=True,
        ),
        Option(
            "--minimum",
            "only calls that take at least this time, such as 10us",
            metavar="TIME",
        ),
    ),
    """\
Options come before SCRIPT; words after SCRIPT or MODULE are arguments of the program.
It runs in the Python that runs gsym; the exit status is that of the program. Perfetto
and 'gsym trace' read the trace. In a PATTERN, * matches any text.""",
    options_first=True,
)
def record(values: Values) -> int:
    """Run the program."""
    module = values.text("--module")
    rest = values.operands("SCRIPT") + values.operands("ARGUMENT")
    if module is None and not rest:
        raise UsageError("SCRIPT is missing")
    minimum = _minimum(values)
    tracer = Tracer(
        values.text("--output") or "trace.fxt",
        name=os.path.basename(rest[0]) if module is None else module,
    )
    calls = FunctionCalls(
        tracer, values.texts("--only"), values.texts("--without"), minimum
    )
    # The first one registered runs last, after those of the program.
    atexit.register(_finish, tracer, calls)
    atexit.unregister(tracer.close)
    _give_back_streams()
    try:
        calls.start()
    except ValueError:
        raise GsymError("another profiler is active") from None
    try:
        if module is not None:
            return run_module(module, rest)
        return run_script(rest[0], rest[1:])
    except KeyboardInterrupt:
        # After everything else, end as python does.
        atexit.unregister(_finish)
        atexit.register(_end_by_signal, tracer, calls)
        return 128 + signal.SIGINT
    finally:
        if sys.stdout is None or sys.stdout.closed:  # it will be flushed
            sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115


def _minimum(values: Values) -> int:
    text = values.text("--minimum")
    if text is None:
        return 0
    try:
        return parse_moment(text).ns
    except ValueError as error:
        raise UsageError(f"option '--minimum': {error}") from None


def _give_back_streams() -> None:
    """Restore the streams of the program, which our verbs have changed.

    Standard input is unchanged, and python creates all three in the same way.
    """
    unguard_terminals()
    like = sys.stdin
    encoding = (
        like.encoding if like else locale.getpreferredencoding(do_setlocale=False)
    )
    errors = (like.errors if like else None) or "strict"
    for stream, handling in ((sys.stdout, errors), (sys.stderr, "backslashreplace")):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(encoding=encoding, errors=handling)


def _finish(tracer: Tracer, calls: FunctionCalls) -> None:
    calls.stop()
    if calls.left_out:
        tracer.log(f"calls shorter than the minimum: {calls.left_out}")
    tracer.close()


def _end_by_signal(tracer: Tracer, calls: FunctionCalls) -> None:
    _finish(tracer, calls)
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    os.kill(os.getpid(), signal.SIGINT)
