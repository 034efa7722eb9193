"""Profiles as files of the form that a command line asks for."""

from __future__ import annotations

import os

from gsym.cli.verbs.trace_input import warn
from gsym.cli.verbs.trace_profile import chosen_value, tell_losses
from gsym.trace.merging import TraceMerger
from gsym.trace.profiles.fxt_output import with_samples
from gsym.trace.profiles.outputs import write_form

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from gsym.cli.options import Values
    from gsym.cli.verbs.trace_profile import ProfileInput
    from gsym.trace.profiles.model import Profile

TRACE_FORM = "fxt"


class ProfileForm:
    """A form of a file that was read.

    A trace that becomes a trace keeps all its records.

    Args:
        source: What was read.
        form: One of `gsym.trace.profiles.outputs.FORMS`.

    Attributes:
        left_out: Records of a trace that have no place in the form, by kind.
    """

    def __init__(self, source: ProfileInput, form: str) -> None:
        self._source = source
        self._form = form
        self._trace = source.trace if form == TRACE_FORM else None
        self.left_out = {} if self._trace else source.left_out()
        self._dropped: dict[str, int] = {}

    def pieces(
        self, profile: Profile, values: Values, roots: tuple[str, ...]
    ) -> Iterator[bytes]:
        """The bytes of the file."""
        source = self._source
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
        merger = TraceMerger()
        records = self._trace.records(keep_context=True)
        yield from merger.pieces(with_samples(records, profile), source.name)
        self._dropped = merger.dropped

    def _value(self, profile: Profile, values: Values) -> int:
        """The index of the value type that is written."""
        if self._form != "firefox":
            return chosen_value(profile, values)
        from gsym.trace.profiles.firefox import default_value, weight_of

        value = chosen_value(profile, values, default_value(profile))
        chosen = profile.value_types[value]
        if weight_of(chosen) is None:
            text = f"firefox has no unit for '{chosen.type}': written as samples"
            warn(f"{self._source.name}: {text}")
        return value

    def tell_losses(self, profile: Profile) -> None:
        """Tell of what is not in the file."""
        tell_losses(profile, self.left_out, self._source.name, self._form)
        for kind, times in self._dropped.items():
            warn(f"{self._source.name}: dropped: {kind} ({times})")
