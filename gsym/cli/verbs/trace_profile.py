"""A profile as the verbs of `gsym trace` read it: of any format, with filters."""

from __future__ import annotations

from collections import Counter
from contextlib import contextmanager

from gsym.cli.options import Operand, Option, UsageError
from gsym.cli.verbs.trace_input import TraceInput, warn
from gsym.cli.verbs.trace_options import read_selection
from gsym.errors import GsymError
from gsym.trace.opening import (
    InputFile,
    ProfileOptions,
    read_profile,
    unknown_format,
)
from gsym.trace.profiles.fxt_samples import PROFILER_KINDS, read_fxt_samples
from gsym.trace.selection import Selection, select_samples

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from gsym.cli.options import Values
    from gsym.trace.profiles.model import Profile


def profile_operand(name: str) -> Operand:
    """An operand that names a profile."""
    return Operand(
        name,
        "Fuchsia trace with samples, pprof, OpenTelemetry, output of perf script, or "
        "addresses; - is standard input",
    )


PROFILE = profile_operand("FILE")
VALUE = Option(
    "--value",
    "which values of the samples are summed, by type or number (default: the last)",
    metavar="TYPE",
)
PROFILE_OPTIONS = (
    Option(
        "--build-ids",
        "file of build ids and paths, as perf buildid-list prints them",
        metavar="FILE",
    ),
    Option("--build-id", "of the module of addresses without one", metavar="HEX"),
    Option(
        "--return-addresses",
        "addresses of callers, or all of a list, are where calls return to (pprof, "
        "addresses)",
    ),
)


class ProfileInput:
    """A file with a profile.

    Args:
        source: The file.
        values: The command line, with filters, `STRICT` and `PROFILE_OPTIONS`.
        forms: What its `--to` may name besides times.

    Attributes:
        path: Of a regular file with its contents.
        name: What a user calls it.
        kind: One of `gsym.trace.opening.KINDS`.
        trace: The same as a trace; None if it is not one.
    """

    def __init__(
        self, source: InputFile, values: Values, forms: tuple[str, ...] = ()
    ) -> None:
        self.kind = source.kind()
        self.path = source.file()
        self.name = source.name
        if not self.kind:
            raise unknown_format(self.name)
        self.selection = read_selection(values, forms)
        self._values = values
        self.trace: TraceInput | None = None
        if self.kind == "fxt":
            strict = values.flag("--strict")
            self.trace = TraceInput(source.path, strict=strict, source=source)

    @property
    def has_filters(self) -> bool:
        """Whether samples are to be left out."""
        return self.selection != Selection()

    def read(self) -> Profile:
        """All of the profile.

        Raises:
            FormatError: It is of no known format, or damaged.
            UnsupportedError: It needs a package that is not installed.
        """
        if self.trace is None:
            return read_profile(self.path, self._options())
        return read_fxt_samples(self.trace.records(PROFILER_KINDS))

    def select(self, profile: Profile) -> None:
        """Leave out what is not wanted; names are those that the profile has by now."""
        if not self.has_filters:
            return
        origin = None
        if self.trace is not None:
            origin = self.trace.survey().begin_ns
        select_samples(profile, self.selection, origin)

    def require_samples(self, profile: Profile) -> None:
        """See to it that there is something to show.

        Raises:
            GsymError: The file holds no samples.
        """
        if profile.samples:
            return
        hint = ""
        if self.trace is not None:
            hint = "; 'gsym trace info' shows what the trace has"
        raise GsymError(f"{self.name}: there are no samples in it{hint}")

    def left_out(self) -> dict[str, int]:
        """Records of a trace that a profile has no place for, by kind."""
        if self.trace is None:
            return {}
        counts = Counter(self.trace.counts().records)
        known = (*PROFILER_KINDS, *_STRUCTURE)
        return {kind: n for kind, n in counts.items() if n and kind not in known}

    def _options(self) -> ProfileOptions:
        values, build_ids = self._values, None
        path = values.text("--build-ids")
        if path is not None:
            from gsym.trace.profiles.perf_script_input import read_build_ids

            build_ids = read_build_ids(path)
        return ProfileOptions(
            build_ids=build_ids,
            build_id=(values.text("--build-id") or "").lower(),
            return_addresses=values.flag("--return-addresses"),
        )


# Records of a trace that only say how others are read.
_STRUCTURE = (
    "provider_info",
    "provider_section",
    "trace_info",
    "initialization",
    "string",
    "thread",
)


@contextmanager
def open_profile_input(
    values: Values, operand: str = "FILE", forms: tuple[str, ...] = ()
) -> Iterator[ProfileInput]:
    """The profile that an operand or an option names; its faults are told at the end.

    Raises:
        FormatError: It is of no known format, or damaged.
        OSError: It cannot be read.
        UsageError: A filter is not understood.
    """
    given = (values.text if operand.startswith("-") else values.operand)(operand)
    assert given is not None  # noqa: S101 - who asks for an option has looked
    with InputFile(given) as source:
        opened = ProfileInput(source, values, forms)
        if opened.trace is None:
            yield opened
            return
        with opened.trace:
            yield opened


def chosen_value(profile: Profile, values: Values, default: int | None = None) -> int:
    """The index of the requested value type; by default the last.

    Raises:
        UsageError: There is no such one.
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
    raise UsageError(f"option '{VALUE.name}': there is no '{text}', but {known}")


def tell_losses(
    profile: Profile, left_out: dict[str, int], name: str, form: str
) -> None:
    """Tell of what does not go into an output."""
    for what, count in profile.losses.items():
        warn(f"{name}: left out: {what}: {count}")
    if left_out:
        parts = ", ".join(f"{kind} {count}" for kind, count in left_out.items())
        warn(f"{name}: left out, for {form} has no place for it: {parts}")
