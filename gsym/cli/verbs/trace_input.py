"""Traces as input of `gsym trace`: selection, progress, warnings."""

from __future__ import annotations

import sys

from gsym.cli.program import EXIT_INCOMPLETE
from gsym.cli.terminal import progress_for, times, warn
from gsym.cli.verbs.trace_options import read_selection
from gsym.conditions import Selection
from gsym.fxt.decoder import KINDS
from gsym.fxt.reader import Trace, open_trace
from gsym.fxt.records import ProviderEvent, ProviderInfo, Record
from gsym.fxt.selection import RecordSelection, coarse_filter
from gsym.fxt.summary import BUFFER_FULL, DESCRIBING_KINDS, Survey

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Collection, Iterator
    from types import TracebackType

    from typing_extensions import Self

    from gsym.cli.grammar import Values
    from gsym.fxt.decoder import Columns, Counts, Filter, Problem
    from gsym.profiles.opening import RepeatableInput

TRACE = "FILE  Fuchsia trace; - is standard input"
_EVERYTHING = Selection()
_MAX_PROBLEMS = 5
_PROVIDERS = ("provider_info", "provider_event")
_PROVIDER_NUMBERS = frozenset(map(KINDS.index, _PROVIDERS))


class TraceInput:
    """One trace, which can be read several times, even from a pipe.

    At the end of a `with` block, dropped records, errors, and data that was left out
    are reported.
    """

    def __init__(
        self,
        source: RepeatableInput,
        values: Values,
        selection: Selection | None = None,
    ) -> None:
        """Use the selection of the command line, or another one."""
        self.name: str = source.name
        self.selection: Selection = selection or read_selection(values)
        self._is_strict = values.flag("--strict")
        self._source = source
        self._survey: Survey | None = None
        self._names: dict[int | None, str] = {}
        self._dropped: dict[int | None, int] = {}
        self._read: Trace | None = None
        source.require_trace()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if kind is None:
            sys.stdout.flush()
            for text in self._warnings():
                warn(f"{self.name}: {text}")
        self._source.__exit__(kind, error, traceback)

    @property
    def has_filters(self) -> bool:
        """Whether there are conditions."""
        return self.selection != _EVERYTHING

    def columns(
        self, kinds: Collection[str] | None = None, chosen: Filter | None = None
    ) -> Iterator[Columns]:
        """Records of some kinds, or chosen by the engine, as columns."""
        trace = open_trace(self._source.source(), kinds=kinds, chosen=chosen)
        self._read = trace
        with progress_for(self.name) as progress:
            for columns in trace.columns():
                yield columns
                progress(trace.bytes_read, trace.size or 0)

    def watched_columns(self) -> Iterator[Columns]:
        """All records as columns; reports of dropped records are noted."""
        self._dropped.clear()
        for columns in self.columns():
            yield columns
            if not _PROVIDER_NUMBERS.isdisjoint(columns.kinds):
                for record in columns.records():
                    if isinstance(record, (ProviderInfo, ProviderEvent)):
                        self._note(record)

    def records(
        self, kinds: Collection[str] | None = None, *, keep_context: bool = False
    ) -> Iterator[Record]:
        """The selected records.

        *keep_context* includes records that define the meaning of others.
        """
        takes, chosen = None, None
        if self.has_filters:
            survey = self.survey()
            takes = RecordSelection(
                self.selection,
                survey.begin_ns or 0,
                survey.objects,
                keep_context=keep_context,
            ).takes
            chosen = coarse_filter(self.selection, survey.begin_ns or 0)
        self._dropped.clear()
        wanted = KINDS if kinds is None else (*kinds, *_PROVIDERS)
        for columns in self.columns(wanted, chosen):
            for record in columns.records():
                if isinstance(record, (ProviderInfo, ProviderEvent)):
                    self._note(record)
                if takes is None or takes(record):
                    yield record

    def survey(self) -> Survey:
        """A summary of the complete trace, which the first call reads."""
        if self._survey is None:
            self.keep()
            survey = Survey()
            survey.add_times(self.columns())
            whole = self._read
            for columns in self.columns(DESCRIBING_KINDS):
                survey.add(columns.records())
            self._read = whole
            for number, provider in survey.providers.items():
                self._names[number] = provider.name
                self._dropped[number] = provider.dropped
            self._survey = survey
        return self._survey

    def reading(self) -> Trace:
        """The last reading."""
        assert self._read is not None  # noqa: S101 - it has been read
        return self._read

    def counts(self) -> Counts:
        """The counts of the last reading."""
        return self.reading().counts()

    @property
    def problems(self) -> list[Problem]:
        """The problems of the last reading."""
        return [] if self._read is None else self._read.problems

    def exit_code(self) -> int:
        """3 with `STRICT` if the last reading had errors, else 0."""
        problems = self.problems or (self._read and self._read.counts().problems)
        return EXIT_INCOMPLETE if self._is_strict and problems else 0

    @property
    def size(self) -> int | None:
        """Bytes of the file; None for a pipe."""
        if self._read is None or self._source.is_pipe:
            return None
        return self._read.size

    def _warnings(self) -> Iterator[str]:
        """Dropped records, errors, and data that was left out."""
        for number, count in self._dropped.items():
            if count:
                name = self._names.get(number, "")
                who = f"provider {number}" + (f" ({name})" if name else "")
                yield f"{who} dropped records: its buffer was full {times(count)}"
        for problem in self.problems[:_MAX_PROBLEMS]:
            yield f"{problem.reason} at offset {problem.offset:#x}"
        if self._read is None:
            return
        counts = self.counts()
        if counts.problems > _MAX_PROBLEMS:
            yield f"{counts.problems - _MAX_PROBLEMS} more errors"
        if counts.traces:
            yield f"the file contains {counts.traces + 1} consecutive traces"
        if counts.unknown_arguments:
            yield f"arguments of unknown types left out ({counts.unknown_arguments})"
        if counts.appended_words:
            words = counts.appended_words
            yield f"words appended to known records left out ({words})"

    def _note(self, record: ProviderInfo | ProviderEvent) -> None:
        number = record.provider
        if isinstance(record, ProviderInfo):
            self._names[number] = record.name
        elif record.event == BUFFER_FULL:
            self._dropped[number] = self._dropped.get(number, 0) + 1

    def keep(self) -> None:
        """Make it possible to read a pipe several times."""
        self._source.file()
