"""`gsym trace flame`: a profile as a flame graph, a page by itself."""

from __future__ import annotations

import json
import os

from gsym.cli.options import Command, Option
from gsym.cli.terminal import printable
from gsym.cli.verbs.trace_convert import ROOTS, chosen_roots
from gsym.cli.verbs.trace_modules import SYMBOL_OPTIONS, symbolize_profile
from gsym.cli.verbs.trace_options import FILTER_HELP, FILTERS, JSON, STRICT
from gsym.cli.verbs.trace_output import write_output
from gsym.cli.verbs.trace_profile import (
    PROFILE,
    PROFILE_OPTIONS,
    VALUE,
    chosen_value,
    open_profile_input,
    tell_losses,
)
from gsym.trace.profiles.flame_graph import flame_graph
from gsym.trace.profiles.symbolizing import resolution

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gsym.cli.options import Values
    from gsym.trace.profiles.model import Profile

COMMAND = Command(
    "gsym trace flame",
    "Draw a profile as a flame graph",
    (PROFILE,),
    (
        Option(
            "--output",
            "the page (default: the name of the file with .html behind it)",
            short="-o",
            metavar="FILE",
        ),
        Option(
            "--diff",
            "earlier profile; colours show which functions take more or less since",
            metavar="FILE",
        ),
        Option("--title", "of the page", metavar="TEXT"),
        JSON,
        VALUE,
        ROOTS,
        *SYMBOL_OPTIONS,
        *PROFILE_OPTIONS,
        *FILTERS,
        STRICT,
    ),
    f"""\
{FILTER_HELP}
The page needs no other file and no server: open it in a browser. In it one can search,
zoom, turn stacks over, and colour by module.""",
)


def run(arguments: list[str]) -> int:
    """Draw one page."""
    values = COMMAND.parse(arguments)
    roots = chosen_roots(values)
    shown = values.operand("FILE")
    operands = ["--diff"] if values.text("--diff") else []
    profiles = [read_symbolized(values, each) for each in (*operands, "FILE")]
    name = "standard input" if shown == "-" else os.path.basename(shown)
    page = flame_graph(
        profiles,
        values.text("--title") or name,
        value=chosen_value(profiles[-1], values),
        roots=roots,
    )
    by_default = "-" if shown == "-" else f"{name}.html"
    path = values.text("--output") or by_default
    write_output(path, (page.encode("utf-8", "replace"),), is_text=True)
    if path == "-":
        return 0
    known, _ = resolution(profiles[-1])
    samples, locations = len(profiles[-1].samples), len(profiles[-1].locations)
    if values.flag("--json"):
        made = {"file": shown, "output": path, "samples": samples}
        print(json.dumps({**made, "locations": locations, "known": known}))
    else:
        text = f"{path}: {samples} samples, {known} of {locations} addresses known"
        print(printable(text))
    return 0


def read_symbolized(values: Values, operand: str) -> Profile:
    """The profile that an operand or an option names, looked up and filtered.

    Raises:
        GsymError: It cannot be read, or has no samples.
        OSError: It cannot be opened.
        UsageError: An option is not understood.
    """
    with open_profile_input(values, operand) as source:
        profile = source.read()
        source.require_samples(profile)
        symbolize_profile(profile, values)
        source.select(profile)
        tell_losses(profile, {}, source.name, "a profile")
    return profile
