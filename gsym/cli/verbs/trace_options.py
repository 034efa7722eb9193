"""Operands, options and output that the verbs of `gsym trace` share."""

from __future__ import annotations

import sys

from gsym.cli.grammar import UsageError, Values, usage_errors
from gsym.conditions import Moment, Selection, parse_moment
from gsym.writing.atomic_file import AtomicFile

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Iterable

PROFILE = """\
FILE  Fuchsia trace, pprof, OpenTelemetry, perf.data, perf script, collapsed stacks,
  Chrome JSON, .cpuprofile, speedscope, Firefox, addresses; - is standard input"""
VALUE = """\
--value TYPE  which values of the samples to sum, by type or number (default: that
  which the file shows first, else the last)"""
PROFILE_OPTIONS = """\
--build-ids FILE  file of build ids and paths, as perf buildid-list prints them
--fields FIELDS  fields that perf script -F printed, where its text does not tell them:
  comm,tid,time,ip,sym,dso
--build-id HEX  build id of the module of bare addresses
--return-addresses  take addresses of callers (pprof), or all bare addresses, as return
  addresses"""
ROOTS = """\
--roots ROOTS  begin stacks with process, thread, or process,thread (collapsed, flame
  graphs)"""
FILTERS = """\
--from-time TIME  only from this time on: 1.5ms from the start, @1.5ms by the clock
--to-time TIME  only before this time
--process PATTERN...  only processes with this koid or name
--thread PATTERN...  only threads with this koid or name
--category PATTERN...  only this category; for samples: a module in the stack
--name PATTERN...  only this name; for samples: a function in the stack"""
FILTER_HELP = """\
A TIME is a number with ns, us, ms or s. In a PATTERN, * matches any text, ? any
character, [ab] a or b. One pattern of each given option must match.
"""


def read_selection(values: Values) -> Selection:
    """The selection of a command line with `FILTERS`."""
    return Selection(
        _moment(values, "--from-time"),
        _moment(values, "--to-time"),
        tuple(values.texts("--process")),
        tuple(values.texts("--thread")),
        tuple(values.texts("--category")),
        tuple(values.texts("--name")),
    )


def _moment(values: Values, option: str) -> Moment | None:
    text = values.text(option)
    if text is None:
        return None
    with usage_errors(f"option '{option}'"):
        return parse_moment(text)


OUTPUT = "-o, --output OUT  output file (default and -: standard output)"


def write_output(path: str | None, pieces: Iterable[bytes], *, is_text: bool) -> None:
    """Write to a file, or to standard output, which may be a terminal for text only."""
    if path is not None and path != "-":
        with AtomicFile(path) as file:
            for piece in pieces:
                file.write(piece)
        return
    if not is_text and sys.stdout.isatty():
        raise UsageError("binary output to a terminal: choose a file with '-o FILE'")
    sys.stdout.flush()
    for piece in pieces:
        sys.stdout.buffer.write(piece)
    sys.stdout.buffer.flush()


def chosen_roots(values: Values) -> tuple[str, ...]:
    """The first frames of stacks, from the option `ROOTS`."""
    text = values.text("--roots")
    roots = tuple(text.split(",")) if text else ()
    if not {"process", "thread"}.issuperset(roots):
        raise UsageError("option '--roots': expected process, thread or both")
    return roots
