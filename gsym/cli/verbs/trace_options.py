"""Options that all verbs of `gsym trace` have: what is wanted, how faults are met."""

from __future__ import annotations

from gsym.cli.options import Operand, Option, UsageError
from gsym.trace.selection import Moment, Selection, parse_moment

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gsym.cli.options import Values


TRACE = Operand("FILE", "Fuchsia trace, compressed by gzip or not; - is standard input")
STRICT = Option("--strict", "end at the first fault, with exit status 1")
JSON = Option("--json", "print one JSON object")
JSON_LINES = Option("--json", "print one JSON object a line for each record")
FILTERS = (
    Option(
        "--from",
        "only from this time on: 1.5ms from the start, @1.5ms by the clock",
        metavar="TIME",
    ),
    Option("--to", "only what is in front of this time", metavar="TIME"),
    Option(
        "--process",
        "only of processes with this koid or name",
        metavar="PATTERN",
        repeatable=True,
    ),
    Option(
        "--thread",
        "only of threads with this koid or name",
        metavar="PATTERN",
        repeatable=True,
    ),
    Option(
        "--category",
        "only of this category; of samples: of a module in the stack",
        metavar="PATTERN",
        repeatable=True,
    ),
    Option(
        "--name",
        "only what is called so; of samples: a function in the stack",
        metavar="PATTERN",
        repeatable=True,
    ),
)
_END = next(option for option in FILTERS if option.name == "--to")
# Where an output has a form, `--to` names it; a form and a time look different.
FILTERS_BUT_END = tuple(option for option in FILTERS if option is not _END)
FILTER_HELP = """\
A TIME is a number with ns, us, ms or s. In a PATTERN, * is any text, ? any character,
[ab] one of some. Of several patterns of one option any will do; all options must fit.
"""


def read_selection(values: Values, forms: tuple[str, ...] = ()) -> Selection:
    """What a command line with `FILTERS` asks for.

    Args:
        values: The command line.
        forms: What `--to` may name besides times, where it does both.

    Raises:
        UsageError: A time is none.
    """
    return Selection(
        _moment(values, "--from"),
        _moment(values, "--to", forms),
        tuple(values.texts("--process")),
        tuple(values.texts("--thread")),
        tuple(values.texts("--category")),
        tuple(values.texts("--name")),
    )


def _moment(values: Values, option: str, forms: tuple[str, ...] = ()) -> Moment | None:
    texts = [text for text in values.texts(option) if text not in forms]
    if not texts:
        return None
    try:
        return parse_moment(texts[-1])
    except ValueError as error:
        raise UsageError(f"option '{option}': {error}") from None
