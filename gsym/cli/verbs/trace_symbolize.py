"""`gsym trace symbolize`: the functions, files and lines of a profile."""

from __future__ import annotations

import json
import sys

from gsym.cli.options import Command, Option
from gsym.cli.terminal import printable
from gsym.cli.verbs.trace_convert import ROOTS, chosen_form, chosen_roots, to_option
from gsym.cli.verbs.trace_forms import TRACE_FORM, ProfileForm
from gsym.cli.verbs.trace_modules import (
    SYMBOL_OPTIONS,
    ProfileModules,
    open_places,
    symbolize_profile,
)
from gsym.cli.verbs.trace_options import FILTER_HELP, FILTERS_BUT_END, STRICT
from gsym.cli.verbs.trace_output import OUTPUT, write_output
from gsym.cli.verbs.trace_profile import (
    PROFILE,
    PROFILE_OPTIONS,
    VALUE,
    ProfileInput,
    open_profile_input,
)
from gsym.trace.profiles.input_bytes import read_inflated
from gsym.trace.profiles.outputs import FORMS
from gsym.trace.profiles.symbolizing import resolution

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from gsym.cli.options import Values
    from gsym.trace.profiles.model import Profile

COMMAND = Command(
    "gsym trace symbolize",
    "Look up the functions, files and lines of a profile",
    (PROFILE,),
    (
        OUTPUT,
        to_option(
            FORMS, "by the name of the output, else pprof of pprof, collapsed of others"
        ),
        Option("--json", "print what became of the addresses as one JSON object"),
        *SYMBOL_OPTIONS,
        VALUE,
        ROOTS,
        *PROFILE_OPTIONS,
        *FILTERS_BUT_END,
        STRICT,
    ),
    f"""\
{FILTER_HELP}
Modules are found by their build ids: in the folders, in the store, at their own paths.
pprof that stays pprof keeps all else that is in the file.""",
)

_BINARY_FORMS = frozenset({"pprof", TRACE_FORM})
_MOST_TOLD = 10  # reasons


def run(arguments: list[str]) -> int:
    """Symbolize one file."""
    values = COMMAND.parse(arguments)
    asked, roots = chosen_form(values, FORMS), chosen_roots(values)
    with open_profile_input(values, forms=FORMS) as source:
        form = asked or ("pprof" if source.kind == "pprof" else "collapsed")
        is_in_place = form == source.kind == "pprof" and not source.has_filters
        made = None
        pieces: Iterable[bytes]
        if is_in_place:
            data, profile = _symbolize_in_place(source, values)
            pieces = (data,)
        else:
            profile = source.read()
            source.require_samples(profile)
            made = ProfileForm(source, form)
            symbolize_profile(profile, values)
            source.select(profile)
            pieces = made.pieces(profile, values, roots)
        path = values.text("--output")
        is_told_apart = path not in {None, "-"} or not values.flag("--json")
        if is_told_apart:
            write_output(path, pieces, is_text=form not in _BINARY_FORMS)
        if made is not None:
            made.tell_losses(profile)
        _tell(profile, values, source.name)
    return 0


def _symbolize_in_place(source: ProfileInput, values: Values) -> tuple[bytes, Profile]:
    from gsym.trace.profiles.pprof_output import symbolize_pprof

    modules, binaries = open_places(values)
    paths = {mapping.build_id: mapping.path for mapping in source.read().mappings}
    return symbolize_pprof(
        read_inflated(source.path)[0],
        ProfileModules(modules, paths),
        binaries,
        return_addresses=values.flag("--return-addresses"),
        path=source.name,
    )


def _tell(profile: Profile, values: Values, name: str) -> None:
    known, missing = resolution(profile)
    total = len(profile.locations)
    if values.flag("--json"):
        rows = [row._asdict() for row in missing]
        summary = {"file": name, "locations": total, "known": known}
        print(json.dumps({**summary, "unknown": rows}))
        return
    lines = [f"{name}: {known} of {total} addresses have functions"]
    lines += [
        f"  {row.locations} without, {row.module or 'of no module'}: {row.reason}"
        for row in missing[:_MOST_TOLD]
    ]
    if len(missing) > _MOST_TOLD:
        lines.append(f"  and {len(missing) - _MOST_TOLD} more reasons")
    for line in lines:
        print(printable(line), file=sys.stderr)
