"""Profiles as input and output of `gsym trace`, in any format."""

from __future__ import annotations

import os
from collections import Counter
from contextlib import contextmanager, nullcontext

from gsym.cli.grammar import Operand, Option, UsageError
from gsym.cli.options import STRICT
from gsym.cli.program import EXIT_INCOMPLETE
from gsym.cli.terminal import warn
from gsym.cli.verbs.trace_input import TraceInput, read_selection
from gsym.errors import GsymError, LimitError
from gsym.fxt.conditions import Selection
from gsym.fxt.writer import FLUSH_SIZE, Encoder
from gsym.profiles.fxt_durations import DURATION_KINDS
from gsym.profiles.fxt_output import with_samples
from gsym.profiles.fxt_profile import fxt_profile
from gsym.profiles.fxt_samples import PROFILER_KINDS
from gsym.profiles.model import TIME
from gsym.profiles.opening import (
    InputFile,
    ProfileOptions,
    errors_named,
    read_profile,
    unknown_format,
)
from gsym.profiles.outputs import write_form
from gsym.profiles.selection import select_samples
from gsym.profiles.symbolizing import note_assumed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from gsym.cli.grammar import Values
    from gsym.profiles.model import Profile


PROFILE = Operand(
    "FILE",
    "Fuchsia trace, pprof, OpenTelemetry, perf.data, perf script, collapsed stacks, "
    "Chrome JSON, .cpuprofile, speedscope, Firefox, addresses; - is standard input",
)
VALUE = Option(
    "--value",
    "values of the samples to sum, by type or number (default: the last)",
    metavar="TYPE",
)
PROFILE_OPTIONS = (
    Option(
        "--build-ids",
        "file of build ids and paths, as perf buildid-list prints them",
        metavar="FILE",
    ),
    Option("--build-id", "build id of the module of bare addresses", metavar="HEX"),
    Option(
        "--return-addresses",
        "addresses of callers (pprof), or all addresses (addresses), are return "
        "addresses",
    ),
)


class ProfileInput:
    """A file with a profile.

    Args:
        source: The file.
        values: The command line, with filters and `PROFILE_OPTIONS`.

    Attributes:
        path: Of a regular file with the contents.
        kind: One of `gsym.profiles.opening.KINDS`.
        trace: The file as a trace; None if it is not a trace.
        has_samples: Whether the profile that was read is of samples, not of durations.
    """

    def __init__(self, source: InputFile, values: Values) -> None:
        self.path = source.file()
        self.name = source.name
        self.kind = source.kind()
        if not self.kind:
            raise unknown_format(source.name)
        self.selection = read_selection(values)
        self._values = values
        self.trace = TraceInput(source) if self.kind == "fxt" else None
        self.has_samples = True

    def exit_code(self, profile: Profile | None = None) -> int:
        """See `TraceInput.exit_code`; also 3 if a module of *profile* is unsure."""
        if profile is not None and profile.unsure and self._values.flag(STRICT.name):
            return EXIT_INCOMPLETE
        return 0 if self.trace is None else self.trace.exit_code(self._values)

    @property
    def has_filters(self) -> bool:
        """Whether there are conditions."""
        return self.selection != Selection()

    def read(self) -> Profile:
        """The complete profile.

        Raises:
            FormatError: The file is damaged.
            UnsupportedError: It needs a package that is not installed.
        """
        if self.trace is None:
            return read_profile(self.path, self._options())
        with errors_named(self.name):
            profile = fxt_profile(self.trace.records)
        self.has_samples = profile.value_types != (TIME,)
        return profile

    def select(self, profile: Profile) -> None:
        """Remove samples that are not selected, by the current names."""
        if not self.has_filters:
            return
        origin = None
        if self.trace is not None:
            origin = self.trace.survey().begin_ns
        select_samples(profile, self.selection, origin)

    def require_samples(self, profile: Profile) -> None:
        """Check that there are samples.

        Raises:
            GsymError: The file has no samples.
        """
        if profile.samples:
            return
        hint = ""
        if self.trace is not None:
            hint = "; 'gsym trace info' shows what the trace has"
        raise GsymError(f"{self.name}: no samples and no durations{hint}")

    def left_out(self) -> dict[str, int]:
        """Records of a trace that a profile cannot represent, by kind."""
        if self.trace is None:
            return {}
        counts = Counter(self.trace.counts().records)
        held = PROFILER_KINDS if self.has_samples else DURATION_KINDS
        known = (*held, *_STRUCTURE)
        return {kind: n for kind, n in counts.items() if n and kind not in known}

    def _options(self) -> ProfileOptions:
        values, build_ids = self._values, None
        if not values.has("--build-ids"):
            return ProfileOptions()
        path = values.text("--build-ids")
        if path is not None:
            from gsym.profiles.perf_script_input import read_build_ids

            build_ids = read_build_ids(path)
        return ProfileOptions(
            build_ids=build_ids,
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
    """The profile that an operand or option names; its errors are reported at the end.

    Raises:
        FormatError: The format is unknown, or the file is damaged.
        OSError: It cannot be read.
        UsageError: A filter is invalid.
    """
    given = (values.text if operand.startswith("-") else values.operand)(operand)
    assert given is not None  # noqa: S101 - who asks for an option has looked
    with InputFile(given) as source:
        opened = ProfileInput(source, values)
        with opened.trace or nullcontext():
            yield opened


def chosen_value(profile: Profile, values: Values, default: int | None = None) -> int:
    """The index of the requested value type; by default the last.

    Raises:
        UsageError: There is no such type.
    """
    types = [each.type for each in profile.value_types]
    text = values.text(VALUE.name)
    if text is None:
        return len(types) - 1 if default is None else default
    if text in types:
        return types.index(text)
    if text.isdecimal() and int(text) < len(types):
        return int(text)
    known = ", ".join(f"{each.type} ({each.unit})" for each in profile.value_types)
    raise UsageError(f"option '{VALUE.name}': no values '{text}', only {known}")


def report_losses(
    profile: Profile, left_out: dict[str, int], name: str, form: str
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


TRACE_FORM = "fxt"


class ProfileForm:
    """Writes a profile in a format.

    A trace written as a trace keeps all its records.

    Args:
        source: The input.
        form: One of `gsym.profiles.outputs.FORMS`.

    Attributes:
        left_out: Records of a trace that the format cannot represent, by kind.
    """

    def __init__(self, source: ProfileInput, form: str) -> None:
        self._source = source
        self._form = form
        self._trace = source.trace if form == TRACE_FORM else None
        self._has_ids = form in {"pprof", "firefox"}
        self.left_out = {} if self._trace else source.left_out()
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
