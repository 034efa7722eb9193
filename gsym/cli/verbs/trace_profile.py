"""Profiles as input and output of `gsym trace`, in any format."""

from __future__ import annotations

from collections import Counter
from contextlib import contextmanager, nullcontext

from gsym.cli.grammar import UsageError, Values, usage_errors
from gsym.cli.program import EXIT_INCOMPLETE
from gsym.cli.terminal import warn
from gsym.cli.verbs.module_options import FILES, open_profile_modules
from gsym.cli.verbs.trace_options import read_selection
from gsym.conditions import Selection
from gsym.errors import ErrorsOf, GsymError
from gsym.profiles import opening
from gsym.profiles.model import TIME, Profile
from gsym.profiles.perf_layout import layout_of

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


class ProfileInput:
    """A file with a profile."""

    def __init__(self, source: opening.RepeatableInput, values: Values) -> None:
        self.name: str = source.name
        fields = values.text("--fields") if values.has("--fields") else None
        self._fields = fields or ""
        if self._fields:
            with usage_errors("option '--fields'"):
                layout_of(self._fields)  # refuses unknown ones
        # one of `gsym.profiles.opening.KINDS`
        self.kind: str = "perf script" if self._fields else source.kind()
        self.path: str = source.file()  # of a regular file with the contents
        self.selection: Selection = read_selection(values)
        self._values = values
        # the file as a trace; None if it is not one
        self.trace: TraceInput | None = None
        if self.kind == "fxt":
            from gsym.cli.verbs.trace_input import TraceInput

            self.trace = TraceInput(source, values, Selection())
        # records of a trace that a profile cannot represent, by kind
        self.left_out: dict[str, int] = {}

    def exit_code(self, profile: Profile | None = None) -> int:
        """See `TraceInput.exit_code`; also 3 if a module of *profile* is unsure."""
        if profile is not None and profile.unsure and self._values.flag("--strict"):
            return EXIT_INCOMPLETE
        return 0 if self.trace is None else self.trace.exit_code()

    @property
    def has_filters(self) -> bool:
        """Whether there are conditions."""
        return self.selection != Selection()

    def read(self, *, takes_durations: bool = True) -> Profile:
        """The complete profile; see `fxt_profile`."""
        if self.trace is None:
            return opening.read_profile(self.path, self._options())
        from gsym.profiles.fxt_input import fxt_profile

        with ErrorsOf(self.name):
            return fxt_profile(self.trace.records, takes_durations=takes_durations)

    def samples(self, *, is_chrome: bool = False, symbolizes: bool = False) -> Profile:
        """The selected samples, symbolized by the options `SYMBOL_OPTIONS` if wanted.

        A trace for Chrome has its events as well, and need not have any.
        """
        has_events = is_chrome and self.trace is not None
        profile = self.read(takes_durations=not has_events)
        if not has_events:
            self._require_samples(profile)
            self.left_out = self._left_out(profile)
        if symbolizes:
            self._symbolize(profile)
        self.select(profile)
        return profile

    def _symbolize(self, profile: Profile) -> None:
        values = self._values
        is_asked = values.has("--source") and any(map(values.texts, FILES))
        if is_asked or profile.needs_symbols:
            from gsym.profiles.symbolizing import bound_functions, symbolize

            modules, binaries = open_profile_modules(values)
            symbolize(profile, modules, binaries)
            bound_functions(profile, binaries)

    def select(self, profile: Profile) -> None:
        """Remove samples that are not selected, by the current names."""
        if not self.has_filters:
            return
        origin = None
        if self.trace is not None:
            origin = self.trace.survey().begin_ns
        from gsym.profiles.selection import select_samples

        select_samples(profile, self.selection, origin)

    def _require_samples(self, profile: Profile) -> None:
        if profile.samples:
            return
        hint = ""
        if self.trace is not None:
            hint = "; 'gsym trace info' shows what the trace has"
        raise GsymError(f"{self.name}: no samples and no durations{hint}")

    def _left_out(self, profile: Profile) -> dict[str, int]:
        if self.trace is None:
            return {}
        from gsym.profiles.fxt_input import DURATION_KINDS, PROFILER_KINDS

        counts = Counter(self.trace.counts().records)
        held = DURATION_KINDS if profile.value_types == (TIME,) else PROFILER_KINDS
        known = (*held, *_STRUCTURE)
        return {kind: n for kind, n in counts.items() if n and kind not in known}

    def _options(self) -> opening.ProfileOptions:
        values, build_ids = self._values, None
        if not values.has("--build-ids"):
            return opening.ProfileOptions()
        path = values.text("--build-ids")
        if path is not None:
            from gsym.profiles.perf_script import read_build_ids

            build_ids = read_build_ids(path)
        return opening.ProfileOptions(
            build_ids=build_ids,
            fields=self._fields,
            build_id=(values.text("--build-id") or "").lower(),
            return_addresses=values.flag("--return-addresses"),
        )


# Records of a trace that only define how others are read.
_STRUCTURE = (
    "provider_info",
    "provider_section",
    "trace_info",
    "initialization",
    "string",
    "thread",
)


@contextmanager
def open_profile_input(values: Values, operand: str = "FILE") -> Iterator[ProfileInput]:
    """The profile of an operand or option; its errors are reported at the end."""
    given = (values.text if operand.startswith("-") else values.operand)(operand)
    assert given is not None  # noqa: S101 - who asks for an option has looked
    with opening.RepeatableInput(given) as source:
        opened = ProfileInput(source, values)
        with opened.trace or nullcontext():
            yield opened


def chosen_values(profile: Profile, values: Values) -> tuple[int, ...]:
    """The requested value type, else those of all events, by their indexes."""
    if profile.events and values.text("--value") is None:
        return profile.events
    return (chosen_value(profile, values),)


def chosen_value(profile: Profile, values: Values, default: int | None = None) -> int:
    """The index of the requested value type.

    By default it is the one that the profile has for that, the first one of several
    events, or the last that is not always 0; other events are counted as a loss.
    """
    types = [each.type for each in profile.value_types]
    text = values.text("--value")
    if text is None:
        if default is None:
            default = profile.default_value
        for other in profile.events[1:]:
            kind = f"samples of '{types[other]}': see --value"
            count = sum(bool(sample.values[other]) for sample in profile.samples)
            profile.losses[kind] = count
        if default is None and profile.events:
            default = profile.events[0]
        backwards = reversed(range(len(types)))
        used = (at for at in backwards if any(s.values[at] for s in profile.samples))
        return next(used, len(types) - 1) if default is None else default
    if text in types:
        return types.index(text)
    if text.isdecimal() and int(text[:20]) < len(types):
        return int(text[:20])
    known = ", ".join(f"{each.type} ({each.unit})" for each in profile.value_types)
    raise UsageError(f"option '--value': no values '{text}', only {known}")


def report_losses(
    profile: Profile, name: str, left_out: Mapping[str, int] = {}, form: str = ""
) -> None:
    """Warn about data that an output does not have, and modules that are unsure."""
    for module, reason in profile.unsure:
        warn(f"{name}: unsure: {module}: {reason}")
    for what, count in profile.losses.items():
        warn(f"{name}: left out: {what}: {count}")
    if left_out:
        parts = ", ".join(f"{kind} {count}" for kind, count in left_out.items())
        warn(f"{name}: left out, not supported by {form}: {parts}")


def unsure_rows(profile: Profile) -> list[dict[str, str]]:
    """The modules that are unsure, for JSON."""
    return [each._asdict() for each in profile.unsure]
