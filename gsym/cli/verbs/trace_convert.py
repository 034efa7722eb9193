"""`gsym trace convert`: a trace or a profile in another form."""

from __future__ import annotations

import json

from gsym.cli.options import Command, Option, UsageError
from gsym.cli.verbs.trace_forms import ProfileForm
from gsym.cli.verbs.trace_input import warn
from gsym.cli.verbs.trace_options import FILTER_HELP, FILTERS_BUT_END, JSON, STRICT
from gsym.cli.verbs.trace_output import OUTPUT, write_output
from gsym.cli.verbs.trace_profile import (
    PROFILE,
    PROFILE_OPTIONS,
    VALUE,
    ProfileInput,
    open_profile_input,
)
from gsym.errors import UnsupportedError
from gsym.trace.chrome_json import ChromeJson
from gsym.trace.profiles.outputs import FORMS, form_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gsym.cli.options import Values

CHROME = "chrome"
_TIME_STARTS = ("@", *"0123456789")
_TEXT_FORMS = frozenset({CHROME, "collapsed", "speedscope", "firefox", "html"})

ALL_FORMS = (CHROME, *FORMS)


def to_option(forms: tuple[str, ...], by_default: str) -> Option:
    """The option that names a form, or a time as the other verbs have it."""
    return Option(
        "--to",
        f"a form: {', '.join(forms)} (default: {by_default}); or a TIME: only what is "
        "in front of it",
        metavar="FORM|TIME",
        repeatable=True,
    )


ROOTS = Option(
    "--roots",
    "what stacks start with: process, thread, or both with a comma between (collapsed, "
    "html)",
    metavar="ROOTS",
)

COMMAND = Command(
    "gsym trace convert",
    "Write a trace or a profile in another form",
    (PROFILE,),
    (
        OUTPUT,
        to_option(ALL_FORMS, "by the name of the output"),
        JSON,
        VALUE,
        ROOTS,
        *PROFILE_OPTIONS,
        *FILTERS_BUT_END,
        STRICT,
    ),
    f"""\
{FILTER_HELP}
chrome has the events of a trace, the other forms its samples or those of a profile; fxt
has both, the samples as durations that nest. Names of outputs: .json is chrome, .pb.gz
pprof, .folded or .txt collapsed, .speedscope.json speedscope, .firefox.json firefox,
.html a flame graph, .fxt fxt. Addresses are not looked up: 'gsym trace symbolize' does.
What a form has no place for is told.""",
)


def run(arguments: list[str]) -> int:
    """Convert one file."""
    values = COMMAND.parse(arguments)
    form = chosen_form(values, ALL_FORMS)
    if form is None:
        raise UsageError(f"which form? choose '--to' {' or '.join(ALL_FORMS)}")
    chosen_roots(values)
    if values.flag(JSON.name) and values.text(OUTPUT.name) in {None, "-"}:
        raise UsageError("option '--json' needs '-o FILE': both go to standard output")
    with open_profile_input(values, forms=ALL_FORMS) as source:
        if form == CHROME:
            made = _write_chrome(source, values)
        else:
            made = _write_samples(source, values, form)
        if values.flag(JSON.name):
            path = values.text(OUTPUT.name)
            print(
                json.dumps({"file": source.name, "output": path, "form": form, **made})
            )
    return 0


def _write_samples(
    source: ProfileInput, values: Values, form: str
) -> dict[str, object]:
    """Write the samples; what became of them."""
    roots = chosen_roots(values)
    profile = source.read()
    source.require_samples(profile)
    made = ProfileForm(source, form)
    source.select(profile)
    pieces = made.pieces(profile, values, roots)
    write_output(values.text(OUTPUT.name), pieces, is_text=form in _TEXT_FORMS)
    made.tell_losses(profile)
    return {
        "samples": len(profile.samples),
        "left_out": made.left_out,
        "losses": profile.losses,
    }


def chosen_form(values: Values, forms: tuple[str, ...]) -> str | None:
    """The form that a command line asks for, or that its output is named for.

    Raises:
        UsageError: There is no such form.
    """
    form = None
    for text in values.texts("--to"):
        if text in forms:
            form = text
        elif not text.startswith(_TIME_STARTS):
            raise UsageError(f"option '--to': choose {' or '.join(forms)}, or a time")
    path = values.text("--output") or "-"
    if form is not None or path == "-":
        return form
    form = form_of(path) or (CHROME if path.endswith(".json") else None)
    if form not in forms:
        raise UsageError(
            f"which form shall '{path}' have? choose '--to' {' or '.join(forms)}"
        )
    return form


def chosen_roots(values: Values) -> tuple[str, ...]:
    """What stacks start with, as `ROOTS` says.

    Raises:
        UsageError: It is not understood.
    """
    text = values.text(ROOTS.name)
    roots = tuple(text.split(",")) if text else ()
    if not {"process", "thread"}.issuperset(roots):
        raise UsageError(f"option '{ROOTS.name}': choose process or thread or both")
    return roots


def _write_chrome(source: ProfileInput, values: Values) -> dict[str, object]:
    """Write the events; what became of them."""
    if source.trace is None:
        reason = f"{source.name}: chrome is a form of traces, and this is {source.kind}"
        raise UnsupportedError(reason)
    source.trace.selection = source.selection
    converter = ChromeJson()
    records = source.trace.records(keep_context=True)
    pieces = (piece.encode("utf-8", "replace") for piece in converter.pieces(records))
    write_output(values.text("--output"), pieces, is_text=True)
    if converter.closed:
        count = converter.closed
        warn(f"{source.name}: {count} durations or operations end with the trace")
    if converter.left_out:
        parts = ", ".join(f"{kind} {n}" for kind, n in converter.left_out.items())
        warn(f"{source.name}: left out, for chrome has no place for it: {parts}")
    for what, count in converter.changed.items():
        warn(f"{source.name}: {what}: {count}")
    return {
        "closed": converter.closed,
        "left_out": converter.left_out,
        "changed": converter.changed,
    }
