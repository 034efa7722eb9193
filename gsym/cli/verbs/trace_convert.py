"""`gsym trace convert` and `symbolize`: profiles in other formats, with symbols."""

from __future__ import annotations

import os
import sys

from gsym.cli.grammar import Command, UsageError, Values
from gsym.cli.options import JSON, STRICT
from gsym.cli.program import EXIT_INCOMPLETE
from gsym.cli.terminal import print_json, print_lines, warn
from gsym.cli.verbs import trace_options
from gsym.cli.verbs.module_options import SYMBOL_OPTIONS, open_profile_modules
from gsym.cli.verbs.trace_profile import (
    ProfileInput,
    chosen_value,
    open_profile_input,
    report_losses,
    unsure_rows,
)
from gsym.errors import ErrorsOf, LimitError
from gsym.fxt.chrome_json import ChromeJson
from gsym.fxt.decoder import KINDS
from gsym.fxt.writer import FLUSH_SIZE, Encoder
from gsym.modules.finder import open_store
from gsym.profiles.fxt_input import SAMPLE_KINDS
from gsym.profiles.input_bytes import read_inflated
from gsym.profiles.model import TIME, Profile, resolution
from gsym.profiles.outputs import FORMS, form_of, write_form
from gsym.profiles.sample_events import sample_events
from gsym.profiles.symbolizing import note_assumed, set_debug_ids

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from gsym.fxt.records import Record

CHROME = "chrome"
TRACE = "fxt"
SYMBOLIZED_FORMS = (CHROME, *FORMS)
ALL_FORMS = (*SYMBOLIZED_FORMS, TRACE)
_OWN_ENDINGS = {".json": CHROME, ".fxt": TRACE}
_MAX_REASONS = 10


def to_option(forms: tuple[str, ...], by_default: str) -> str:
    """The option that names a format."""
    what = f"format: {', '.join(forms)} (default: {by_default})"
    return f"--to FORMAT {{{'|'.join(forms)}}}  {what}"


def chosen_form(values: Values, forms: tuple[str, ...]) -> str | None:
    """The format of `--to`, or by the name of the output."""
    form = values.choice("--to")
    path = values.text("--output") or "-"
    if form is not None or path == "-":
        return form
    form = form_of(path) or _OWN_ENDINGS.get(os.path.splitext(path)[1])
    if form not in forms:
        known = " or ".join(forms)
        raise UsageError(f"unknown format of '{path}': choose '--to' {known}")
    return form


def _write(
    source: ProfileInput,
    profile: Profile,
    form: str,
    values: Values,
    roots: tuple[str, ...],
) -> dict[str, object]:
    """Write samples to the output of the command line; returns a report."""
    if form == CHROME:
        return _write_chrome(source, profile, values)
    if form in {"pprof", "firefox"}:  # which have ids of modules
        note_assumed(profile)
    value, title = _value(source, profile, form, values), os.path.basename(source.name)
    data = write_form(profile, form, value=value, title=title, roots=roots)
    path = values.text("--output")
    trace_options.write_output(path, (data,), is_text=form != "pprof")
    report_losses(profile, source.name, source.left_out, form)
    return {
        "samples": len(profile.samples),
        "left_out": source.left_out,
        "losses": profile.losses,
        "unsure": unsure_rows(profile),
    }


def _value(source: ProfileInput, profile: Profile, form: str, values: Values) -> int:
    """The index of the value type that is written."""
    if form != "firefox":
        return chosen_value(profile, values)
    from gsym.profiles.firefox import default_value, weight_of

    value = chosen_value(profile, values, default_value(profile))
    chosen = profile.value_types[value]
    if weight_of(chosen) is None:
        text = f"firefox has no unit for '{chosen.type}': written as samples"
        warn(f"{source.name}: {text}")
    return value


def _write_chrome(
    source: ProfileInput, profile: Profile, values: Values
) -> dict[str, object]:
    """Write samples as durations, after the events of a trace."""
    converter, value = ChromeJson(), chosen_value(profile, values)
    has_times = all(sample.time is not None for sample in profile.samples)
    if values.text("--value") and has_times and profile.value_types[value] != TIME:
        text = f"'{CHROME}' draws these samples by their times, not by a value"
        raise UsageError(f"option '--value': {text}")
    records: Iterable[Record] = ()
    if source.trace is not None:
        source.trace.selection = source.selection
        drawn = SAMPLE_KINDS if profile.samples else ()
        kinds = [kind for kind in KINDS if kind not in drawn]
        records = source.trace.records(kinds, keep_context=True)
    if profile.samples:
        records = sample_events(profile, value, records)
    pieces = (each.encode("utf-8", "replace") for each in converter.pieces(records))
    trace_options.write_output(values.text("--output"), pieces, is_text=True)
    if converter.closed:
        count = converter.closed
        warn(f"{source.name}: {count} durations or operations end with the trace")
    report_losses(profile, source.name, converter.left_out, CHROME)
    for what, count in converter.changed.items():
        warn(f"{source.name}: {what}: {count}")
    return {
        "closed": converter.closed,
        "left_out": converter.left_out,
        "changed": converter.changed,
    }


@Command(
    "gsym trace convert",
    (
        trace_options.PROFILE,
        trace_options.OUTPUT,
        to_option(ALL_FORMS, "by the name of the output"),
        JSON,
        trace_options.VALUE,
        trace_options.ROOTS,
        trace_options.PROFILE_OPTIONS,
        trace_options.FILTERS,
        STRICT,
    ),
    f"""\
{trace_options.FILTER_HELP}
The format chrome has the events of a trace, and samples as durations that nest; fxt has
the records of a trace that the filters keep. Other formats have the samples of a trace
or profile or, without any, the time of durations, each with those around it as its
stack. Names of outputs: .json is chrome, .fxt fxt, .pb.gz pprof, .folded or .txt
collapsed, .speedscope.json speedscope, .firefox.json firefox. Addresses are not looked
up: 'gsym trace symbolize' does. What a format cannot represent is reported.""",
)
def convert(values: Values) -> int:
    """Convert one file."""
    form, roots = chosen_form(values, ALL_FORMS), trace_options.chosen_roots(values)
    if form is None:
        raise UsageError(f"option '--to' is required: {', '.join(ALL_FORMS)}")
    if values.flag("--json") and values.text("--output") in {None, "-"}:
        raise UsageError("option '--json' needs '-o FILE': both go to standard output")
    profile = None
    with open_profile_input(values) as source:
        if form == TRACE:
            made = _write_part(source, values)
        else:
            profile = source.samples(is_chrome=form == CHROME)
            if form == "firefox" and (store := open_store(None, ())) is not None:
                set_debug_ids(profile, store)
            made = _write(source, profile, form, values, roots)
        if values.flag("--json"):
            path = values.text("--output")
            print_json({"input": source.name, "output": path, "form": form, **made})
    return source.exit_code(profile)


def _write_part(source: ProfileInput, values: Values) -> dict[str, object]:
    """Write the records of a trace that the filters keep; returns a report."""
    trace, dropped = source.trace, 0
    if trace is None:
        raise UsageError(f"'{source.name}' is a profile: only traces become {TRACE}")
    trace.selection = source.selection
    trace.survey()  # reads the byte order

    def pieces() -> Iterator[bytes]:
        nonlocal dropped
        encoder = Encoder(trace.reading().byteorder)
        for record in trace.records(keep_context=True):
            try:
                encoder.add(record)
            except (LimitError, ValueError):
                dropped += 1
            if encoder.size > FLUSH_SIZE:
                yield encoder.take()
        yield encoder.take()

    trace_options.write_output(values.text("--output"), pieces(), is_text=False)
    if dropped:
        warn(f"{source.name}: dropped: records that cannot be written ({dropped})")
    return {"dropped": dropped}


@Command(
    "gsym trace symbolize",
    (
        trace_options.PROFILE,
        trace_options.OUTPUT,
        to_option(
            SYMBOLIZED_FORMS,
            "by the name of the output, else pprof of pprof, collapsed of others",
        ),
        JSON,
        SYMBOL_OPTIONS,
        trace_options.VALUE,
        trace_options.ROOTS,
        trace_options.PROFILE_OPTIONS,
        trace_options.FILTERS,
        STRICT,
    ),
    f"""\
{trace_options.FILTER_HELP}
Modules are found by their ids: in the folders, in the store, at their own paths. One
that may be of another build is reported as unsure. pprof to pprof keeps everything else
in the file.""",
)
def symbolize(values: Values) -> int:
    """Symbolize one file."""
    asked = chosen_form(values, SYMBOLIZED_FORMS)
    roots = trace_options.chosen_roots(values)
    with open_profile_input(values) as source:
        form = asked or ("pprof" if source.kind == "pprof" else "collapsed")
        path = values.text("--output")
        is_written = path not in {None, "-"} or not values.flag("--json")
        if form == source.kind == "pprof" and not source.has_filters:
            data, profile = _symbolize_in_place(source, values)
            if is_written:
                trace_options.write_output(path, (data,), is_text=False)
            report_losses(profile, source.name)
        else:
            profile = source.samples(is_chrome=form == CHROME, symbolizes=True)
            if is_written:
                _write(source, profile, form, values, roots)
            else:
                report_losses(profile, source.name, source.left_out, form)
        is_complete = _report(profile, values, source.name)
    if values.flag("--strict") and not is_complete:
        return EXIT_INCOMPLETE
    return source.exit_code(profile)


def _symbolize_in_place(source: ProfileInput, values: Values) -> tuple[bytes, Profile]:
    from gsym.profiles.pprof import symbolize_pprof

    modules, binaries = open_profile_modules(values)
    with ErrorsOf(source.name):
        return symbolize_pprof(
            read_inflated(source.path),
            modules,
            binaries,
            return_addresses=values.flag("--return-addresses"),
        )


def _report(profile: Profile, values: Values, name: str) -> bool:
    """Report the addresses without a function; returns whether there are none."""
    known, missing = resolution(profile)
    total = len(profile.locations)
    if values.flag("--json"):
        rows = [row._asdict() for row in missing]
        summary = {"path": name, "locations": total, "known": known}
        print_json({**summary, "unknown": rows, "unsure": unsure_rows(profile)})
        return not missing
    lines = [f"{name}: {known} of {total} addresses have functions"]
    lines += [
        f"  {row.locations} without, {row.module or 'of no module'}: {row.reason}"
        for row in missing[:_MAX_REASONS]
    ]
    if len(missing) > _MAX_REASONS:
        lines.append(f"  and {len(missing) - _MAX_REASONS} more reasons")
    print_lines(lines, sys.stderr)
    return not missing
