"""A trace as the verbs of `gsym trace` read it: filters, progress, warnings."""

from __future__ import annotations

import sys

from gsym.cli.terminal import printable, progress_for
from gsym.cli.verbs.trace_options import read_selection
from gsym.trace.fxt.decoder import KINDS
from gsym.trace.fxt.reader import open_trace
from gsym.trace.fxt.records import ProviderEvent, ProviderInfo
from gsym.trace.fxt.summary import BUFFER_FULL, DESCRIBING_KINDS, Survey
from gsym.trace.opening import InputFile
from gsym.trace.selection import RecordSelection, Selection, coarse_filter

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterator
    from types import TracebackType

    from typing_extensions import Self

    from gsym.cli.options import Values
    from gsym.trace.fxt.decoder import Columns, Counts, Filter, Problem
    from gsym.trace.fxt.reader import Trace
    from gsym.trace.fxt.records import Record

_EVERYTHING = Selection()
_MOST_TOLD = 5  # problems
_PROVIDERS = ("provider_info", "provider_event")
_PROVIDER_NUMBERS = frozenset(map(KINDS.index, _PROVIDERS))


def warn(text: str) -> None:
    """Tell a person of something that did not stop the work."""
    print(f"gsym: warning: {printable(text)}", file=sys.stderr)


class TraceInput:
    """One trace, which can be read several times, also when it comes from a pipe.

    At the end of a `with` block, dropped records, faults, and data that was left out as
    it has no meaning here are reported.

    Args:
        path: Of a file or a pipe; `STANDARD_INPUT`.
        selection: What is wanted of it.
        strict: The first error in it ends the command.
        source: The same if it is open already, and known to be a trace.

    Raises:
        FormatError: It is not a trace; or, while it is read and *strict* is set, it is
            damaged.
        OSError: It cannot be read.
    """

    def __init__(
        self,
        path: str,
        selection: Selection = _EVERYTHING,
        *,
        strict: bool = False,
        source: InputFile | None = None,
    ) -> None:
        self.input = source or InputFile(path)
        self.name = self.input.name
        self.selection = selection
        self._strict = strict
        self._survey: Survey | None = None
        self._names: dict[int | None, str] = {}
        self._dropped: dict[int | None, int] = {}
        self._read: Trace | None = None
        if source is None:
            self.input.require_trace()

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
            self._warn()
        self.input.__exit__(kind, error, traceback)

    @property
    def has_filters(self) -> bool:
        """Whether something is to be left out."""
        return self.selection != _EVERYTHING

    def columns(
        self, kinds: Collection[str] | None = None, chosen: Filter | None = None
    ) -> Iterator[Columns]:
        """Records of some kinds as columns; all, or what the engine is to choose."""
        trace = self._open(kinds, chosen)
        progress = progress_for(self.name)
        for columns in trace.columns():
            yield columns
            if progress is not None:
                progress(trace.bytes_read, trace.size or 0)
        if progress is not None:
            progress.clear()

    def watched_columns(self) -> Iterator[Columns]:
        """All records as columns; what they say of dropped ones is noted."""
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
        """The records that are wanted.

        Args:
            kinds: Of `gsym.trace.fxt.decoder.KINDS`; None: all.
            keep_context: With those that others are understood by.
        """
        takes, chosen = None, None
        if self.has_filters:
            takes = self._record_selection(keep_context=keep_context).takes
            chosen = coarse_filter(self.selection, self.survey().begin_ns or 0)
        self._dropped.clear()
        wanted = KINDS if kinds is None else (*kinds, *_PROVIDERS)
        for columns in self.columns(wanted, chosen):
            for record in columns.records():
                if isinstance(record, (ProviderInfo, ProviderEvent)):
                    self._note(record)
                if takes is None or takes(record):
                    yield record

    def survey(self) -> Survey:
        """What has to be known of the whole; it is read for this the first time."""
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

    def counts(self) -> Counts:
        """Those of the last reading."""
        assert self._read is not None  # noqa: S101 - it has been read
        return self._read.counts()

    @property
    def byteorder(self) -> str:
        """That of the last reading."""
        assert self._read is not None  # noqa: S101 - it has been read
        return self._read.byteorder

    @property
    def problems(self) -> list[Problem]:
        """Those of the last reading."""
        return [] if self._read is None else self._read.problems

    @property
    def size(self) -> int | None:
        """Bytes of the file; None of a pipe."""
        return self._read.size if self._read is not None else None

    def _warn(self) -> None:
        """Report dropped records, faults, and data that was left out."""
        for number, count in self._dropped.items():
            if count:
                name = self._names.get(number, "")
                who = f"provider {number}" + (f" ({name})" if name else "")
                times = "once" if count == 1 else f"{count} times"
                warn(
                    f"{self.name}: {who} dropped records: its buffer filled up {times}"
                )
        for problem in self.problems[:_MOST_TOLD]:
            warn(f"{self.name}: {problem.reason} at offset {problem.offset:#x}")
        if self._read is None:
            return
        counts = self.counts()
        if counts.problems > _MOST_TOLD:
            warn(f"{self.name}: {counts.problems - _MOST_TOLD} more faults")
        if counts.traces:
            number = counts.traces + 1
            warn(f"{self.name}: the file holds {number} consecutive traces")
        if counts.unknown_arguments:
            number = counts.unknown_arguments
            warn(f"{self.name}: arguments of unknown types left out ({number})")
        if counts.appended_words:
            number = counts.appended_words
            warn(f"{self.name}: words appended to known records left out ({number})")

    def _note(self, record: ProviderInfo | ProviderEvent) -> None:
        number = record.provider
        if isinstance(record, ProviderInfo):
            self._names[number] = record.name
        elif record.event == BUFFER_FULL:
            self._dropped[number] = self._dropped.get(number, 0) + 1

    def _record_selection(self, *, keep_context: bool) -> RecordSelection:
        survey = self.survey()
        return RecordSelection(
            self.selection,
            survey.begin_ns or 0,
            survey.objects,
            keep_context=keep_context,
        )

    def _open(self, kinds: Collection[str] | None, chosen: Filter | None) -> Trace:
        source = self.input.source()
        self._read = open_trace(source, strict=self._strict, kinds=kinds, chosen=chosen)
        return self._read

    def keep(self) -> None:
        """Make it possible to read a pipe several times."""
        self.input.file()


def open_trace_input(values: Values, *, passes: int = 1) -> TraceInput:
    """The trace that a command line names, with its filters.

    Args:
        values: Of a command with `TRACE`, `FILTERS` and `STRICT`.
        passes: How many times it will be read.

    Raises:
        UsageError: A filter is not understood.
        FormatError: It is no trace.
        OSError: It cannot be opened.
    """
    selection = read_selection(values)
    trace = TraceInput(
        values.operand("FILE"), selection, strict=values.flag("--strict")
    )
    if passes > 1:
        trace.keep()
    return trace
