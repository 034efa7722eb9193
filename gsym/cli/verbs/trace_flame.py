"""`gsym trace flame`: a profile as a page."""

from __future__ import annotations

import os

from gsym.cli.grammar import Command, Values
from gsym.cli.options import JSON, STRICT, show
from gsym.cli.verbs import trace_options, trace_profile
from gsym.cli.verbs.module_options import SYMBOL_OPTIONS
from gsym.profiles.flame_graph import flame_page
from gsym.profiles.model import Profile, resolution


@Command(
    "gsym trace flame",
    (
        trace_options.PROFILE,
        """\
-o, --output OUT  output file (default: FILE with .html added)
--diff FILE  earlier profile; colours show functions that take more or less than in it
--title TEXT  title of the page""",
        JSON,
        trace_options.VALUE,
        trace_options.ROOTS,
        SYMBOL_OPTIONS,
        trace_options.PROFILE_OPTIONS,
        trace_options.FILTERS,
        STRICT,
    ),
    f"""\
{trace_options.FILTER_HELP}
The page is self-contained: open it in a browser. It can search, zoom, invert stacks,
and colour by module.""",
)
def flame(values: Values) -> int:
    """Draw one page."""
    roots = trace_options.chosen_roots(values)
    shown = values.operand("FILE")
    operands = ["--diff"] if values.text("--diff") else []
    read = [read_symbolized(values, each) for each in (*operands, "FILE")]
    profiles, code = [profile for profile, _ in read], max(code for _, code in read)
    name = "standard input" if shown == "-" else os.path.basename(shown)
    page = flame_page(
        profiles,
        values.text("--title") or name,
        value=trace_profile.chosen_value(profiles[-1], values),
        roots=roots,
    )
    by_default = "-" if shown == "-" else f"{name}.html"
    path = values.text("--output") or by_default
    trace_options.write_output(path, (page.encode("utf-8", "replace"),), is_text=True)
    if path == "-":
        return code
    known, _ = resolution(profiles[-1])
    samples, locations = len(profiles[-1].samples), len(profiles[-1].locations)
    made = {"input": shown, "output": path, "samples": samples, "locations": locations}
    made |= {"known": known, "unsure": trace_profile.unsure_rows(profiles[-1])}
    text = f"{path}: {samples} samples, {known} of {locations} addresses known"
    show(values, made, [text])
    return code


def read_symbolized(values: Values, operand: str) -> tuple[Profile, int]:
    """The symbolized profile that an operand or option names, and the exit code."""
    with trace_profile.open_profile_input(values, operand) as source:
        profile = source.samples(symbolizes=True)
        trace_profile.report_losses(profile, source.name)
    return profile, source.exit_code(profile)
