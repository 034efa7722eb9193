"""`gsym trace convert` and `symbolize`: profiles in other formats, with symbols."""

from __future__ import annotations

import os
import sys

from gsym.cli.grammar import Command, Option, UsageError, Values
from gsym.cli.options import JSON, STRICT
from gsym.cli.program import EXIT_INCOMPLETE
from gsym.cli.terminal import print_json, printable, warn
from gsym.cli.verbs.module_options import SYMBOL_OPTIONS, open_profile_modules
from gsym.cli.verbs.trace_options import (
    FILTER_HELP,
    FILTERS,
    OUTPUT,
    PROFILE,
    PROFILE_OPTIONS,
    ROOTS,
    VALUE,
    chosen_roots,
    write_output,
)
from gsym.cli.verbs.trace_profile import (
    ProfileInput,
    chosen_value,
    open_profile_input,
    report_losses,
    symbolize_profile,
    unsure_rows,
)
from gsym.errors import LimitError
from gsym.fxt.chrome_json import ChromeJson
from gsym.fxt.reader import open_trace
from gsym.fxt.records import Event, Record
from gsym.fxt.writer import FLUSH_SIZE, Encoder
from gsym.modules.finder import open_store
from gsym.profiles.fxt_output import fxt_file, with_samples
from gsym.profiles.input_bytes import read_inflated
from gsym.profiles.model import TIME, Profile, resolution
from gsym.profiles.outputs import FORMS, form_of, write_form
from gsym.profiles.symbolizing import note_assumed, set_debug_ids

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


CHROME = "chrome"
_TEXT_FORMS = frozenset({CHROME, "collapsed", "speedscope", "firefox", "html"})
ALL_FORMS = (CHROME, *FORMS)


def to_option(forms: tuple[str, ...], by_default: str) -> Option:
    """The option that names a format."""
    return Option(
        "--to",
        f"format: {', '.join(forms)} (default: {by_default})",
        metavar="FORMAT",
        choices=forms,
    )


TRACE_FORM = "fxt"


class ProfileForm:
    """Writes a profile in a format.

    A trace written as a trace keeps all its records.
    """

    def __init__(self, source: ProfileInput, form: str) -> None:
        self._source = source
        self._form = form
        self._trace = source.trace if form == TRACE_FORM else None
        self._has_ids = form in {"pprof", "firefox"}
        # records of a trace that the format cannot represent, by kind
        self.left_out: dict[str, int] = {} if self._trace else source.left_out()
        self._dropped = 0

    def pieces(
        self, profile: Profile, values: Values, roots: tuple[str, ...]
    ) -> Iterator[bytes]:
        """The bytes of the file."""
        source = self._source
        if self._has_ids:
            note_assumed(profile)
        if self._trace is None:
            yield write_form(
                profile,
                self._form,
                value=self._value(profile, values),
                title=os.path.basename(source.name),
                roots=roots,
            )
            return
        self._trace.selection = source.selection
        records = self._trace.records(keep_context=True)
        if source.has_samples:
            records = with_samples(records, profile)
        encoder = Encoder(self._trace.byteorder)
        for record in records:
            try:
                encoder.add(record)
            except (LimitError, ValueError):
                self._dropped += 1
            if encoder.size > FLUSH_SIZE:
                yield encoder.take()
        yield encoder.take()

    def _value(self, profile: Profile, values: Values) -> int:
        """The index of the value type that is written."""
        if self._form == TRACE_FORM:
            require_drawn_value(profile, values, TRACE_FORM)
        if self._form != "firefox":
            return chosen_value(profile, values)
        from gsym.profiles.firefox import default_value, weight_of

        value = chosen_value(profile, values, default_value(profile))
        chosen = profile.value_types[value]
        if weight_of(chosen) is None:
            text = f"firefox has no unit for '{chosen.type}': written as samples"
            warn(f"{self._source.name}: {text}")
        return value

    def report_losses(self, profile: Profile) -> None:
        """Warn about data that is not in the file."""
        report_losses(profile, self.left_out, self._source.name, self._form)
        if self._dropped:
            text = f"dropped: records that cannot be written ({self._dropped})"
            warn(f"{self._source.name}: {text}")


def require_drawn_value(profile: Profile, values: Values, form: str) -> None:
    """Check that a format that draws samples at their times is asked for no value."""
    value = chosen_value(profile, values)
    has_times = all(sample.time is not None for sample in profile.samples)
    if values.text(VALUE.name) and has_times and profile.value_types[value] != TIME:
        text = f"'{form}' draws these samples by their times, not by a value"
        raise UsageError(f"option '{VALUE.name}': {text}")


@Command(
    "gsym trace convert",
    (PROFILE,),
    (
        OUTPUT,
        to_option(ALL_FORMS, "by the name of the output"),
        JSON,
        VALUE,
        ROOTS,
        *PROFILE_OPTIONS,
        *FILTERS,
        STRICT,
    ),
    f"""\
{FILTER_HELP}
The format chrome has the events of a trace, or the samples of a profile as durations
that nest. Other formats have the samples of a trace or profile or, without any, the
time of durations, each with those around it as its stack; fxt has all of a trace. Names
of outputs: .json is chrome, .pb.gz pprof, .folded or .txt collapsed, .speedscope.json
speedscope, .firefox.json firefox, .html a flame graph, .fxt fxt. Addresses are not
looked up: 'gsym trace symbolize' does. What a format cannot represent is reported.""",
)
def convert(values: Values) -> int:
    """Convert one file."""
    form = chosen_form(values, ALL_FORMS)
    if form is None:
        raise UsageError(f"option '--to' is required: {', '.join(ALL_FORMS)}")
    chosen_roots(values)
    if values.flag(JSON.name) and values.text(OUTPUT.name) in {None, "-"}:
        raise UsageError("option '--json' needs '-o FILE': both go to standard output")
    profile = None
    with open_profile_input(values) as source:
        if form == CHROME:
            made = _write_chrome(source, values)
        else:
            profile, made = _write_samples(source, values, form)
        if values.flag(JSON.name):
            path = values.text(OUTPUT.name)
            print_json({"input": source.name, "output": path, "form": form, **made})
    return source.exit_code(profile)


def _write_samples(
    source: ProfileInput, values: Values, form: str
) -> tuple[Profile, dict[str, object]]:
    """Write the samples; returns them, and a report."""
    roots = chosen_roots(values)
    profile = source.read()
    source.require_samples(profile)
    made = ProfileForm(source, form)
    source.select(profile)
    if form == "firefox" and (store := open_store(None, ())) is not None:
        set_debug_ids(profile, store)
    pieces = made.pieces(profile, values, roots)
    write_output(values.text(OUTPUT.name), pieces, is_text=form in _TEXT_FORMS)
    made.report_losses(profile)
    return profile, {
        "samples": len(profile.samples),
        "left_out": made.left_out,
        "losses": profile.losses,
        "unsure": unsure_rows(profile),
    }


def chosen_form(values: Values, forms: tuple[str, ...]) -> str | None:
    """The format of `--to`, or by the name of the output."""
    form = values.choice("--to")
    path = values.text("--output") or "-"
    if form is not None or path == "-":
        return form
    form = form_of(path) or (CHROME if path.endswith(".json") else None)
    if form not in forms:
        raise UsageError(
            f"unknown format of '{path}': choose '--to' {' or '.join(forms)}"
        )
    return form


def _write_chrome(source: ProfileInput, values: Values) -> dict[str, object]:
    """Write the events of a trace, or the samples of a profile as durations."""
    converter = ChromeJson()
    records: Iterable[Record]
    if source.trace is None:
        profile = source.read()
        source.require_samples(profile)
        source.select(profile)
        value = chosen_value(profile, values)
        require_drawn_value(profile, values, CHROME)
        # With times, and without what differs from call to call: speedscope takes
        # events of one name with other arguments for other functions.
        drawn = open_trace(fxt_file(profile, value))
        records = (_without_details(record) for record in drawn)
        report_losses(profile, {}, source.name, CHROME)
    else:
        source.trace.selection = source.selection
        records = source.trace.records(keep_context=True)
    pieces = (piece.encode("utf-8", "replace") for piece in converter.pieces(records))
    write_output(values.text("--output"), pieces, is_text=True)
    if converter.closed:
        count = converter.closed
        warn(f"{source.name}: {count} durations or operations end with the trace")
    if converter.left_out:
        parts = ", ".join(f"{kind} {n}" for kind, n in converter.left_out.items())
        warn(f"{source.name}: left out, not supported by chrome: {parts}")
    for what, count in converter.changed.items():
        warn(f"{source.name}: {what}: {count}")
    return {
        "closed": converter.closed,
        "left_out": converter.left_out,
        "changed": converter.changed,
    }


_DETAILS = frozenset({"samples", "address", "line"})


def _without_details(record: Record) -> Record:
    if not isinstance(record, Event):
        return record
    kept = tuple(each for each in record.args if each.name not in _DETAILS)
    return record._replace(args=kept)


_BINARY_FORMS = frozenset({"pprof", TRACE_FORM})
_MAX_REASONS = 10


@Command(
    "gsym trace symbolize",
    (PROFILE,),
    (
        OUTPUT,
        to_option(
            FORMS, "by the name of the output, else pprof of pprof, collapsed of others"
        ),
        JSON,
        *SYMBOL_OPTIONS,
        VALUE,
        ROOTS,
        *PROFILE_OPTIONS,
        *FILTERS,
        STRICT,
    ),
    f"""\
{FILTER_HELP}
Modules are found by their ids: in the folders, in the store, at their own paths. One
that may be of another build is reported as unsure. pprof to pprof keeps everything else
in the file.""",
)
def symbolize(values: Values) -> int:
    """Symbolize one file."""
    asked, roots = chosen_form(values, FORMS), chosen_roots(values)
    with open_profile_input(values) as source:
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
        is_written = path not in {None, "-"} or not values.flag("--json")
        if is_written:
            write_output(path, pieces, is_text=form not in _BINARY_FORMS)
        if made is not None:
            made.report_losses(profile)
        else:
            report_losses(profile, {}, source.name, form)
        is_complete = _report(profile, values, source.name)
    if values.flag("--strict") and not is_complete:
        return EXIT_INCOMPLETE
    return source.exit_code(profile)


def _symbolize_in_place(source: ProfileInput, values: Values) -> tuple[bytes, Profile]:
    from gsym.profiles.pprof_output import symbolize_pprof

    modules, binaries = open_profile_modules(values)
    return symbolize_pprof(
        read_inflated(source.path)[0],
        modules,
        binaries,
        return_addresses=values.flag("--return-addresses"),
        path=source.name,
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
    for line in lines:
        print(printable(line), file=sys.stderr)
    return not missing
