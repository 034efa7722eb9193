"""Symbolize the rows of files into a folder of parts, which may be stopped and resumed.

    OUT/manifest.json                    what the parts are made of
    OUT/part-INPUT-UNIT.parquet          the rows of a unit, in their order
    OUT/frames/part-INPUT-UNIT.parquet   with output `ids`: frames that they have, but
                                         not those that a part before has

A part is renamed into place when it is complete, so that those that exist are done, and
so are those that have their frames.
"""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from itertools import islice
from types import TracebackType
from typing import Any

from gsym.arrow.answers import Known
from gsym.arrow.inputs import Unit, batches_of, units_of
from gsym.arrow.modules import Modules
from gsym.arrow.rows import AddressRows, module_count, pa
from gsym.arrow.symbolizing import answer_parts, frame_ids, learn, slices_of
from gsym.engine.workers import run_workers, taken_from
from gsym.errors import GsymError
from gsym.records import NamedTuple
from gsym.store.locking import held
from gsym.writing.atomic_file import AtomicFile

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from typing_extensions import Self


MANIFEST = "manifest.json"
FRAMES = "frames"
EMPTY = ".empty"  # after the name of a part without rows, which has no schema
_STREAM_SUFFIX = ".arrows"  # a stream may have another dictionary in each batch
FORMATS = {"parquet": ".parquet", "arrow": _STREAM_SUFFIX}
_STREAM_ROWS = 1 << 15  # of a record batch in a stream
_LOCK = ".lock"
_ID_BITS = 40  # of a frame; above are those of the part that its `Known` began in
_FRAME_TEXTS = (".name", ".path")  # ends of the columns of a stack's texts
_MOST_KNOWN = 384 << 20  # bytes of the known addresses of a thread
# Rows of several parts, and their bytes, whose modules a thread opens together if not
# all modules can be open.
_MOST_GATHERED = 1 << 22
_MOST_GATHERED_BYTES = 256 << 20


class BatchReport(NamedTuple):
    """The outcome of a run."""

    parts: int  # number of parts that are complete now
    kept: int  # number of those that were before
    rows: int  # rows of the inputs that this run has read


class BatchJob:
    """The inputs and the output of a run."""

    def __init__(
        self,
        inputs: Sequence[str],
        output: str,
        modules: Modules,
        options: dict[str, Any],
        format: str = "parquet",  # noqa: A002 - the word for it
    ) -> None:
        self._output = output
        self._modules = modules
        self._options = {"output": "stack", "module": "build_id", "address": "address"}
        self._options |= options
        self._parts = [
            (f"part-{number:05}-{unit.number:06}{FORMATS[format]}", unit)
            for number, path in enumerate(inputs)
            for unit in units_of(path)
        ]
        self._manifest = {
            "inputs": [
                {
                    "path": os.path.abspath(path),
                    "size": status.st_size,
                    "modified": status.st_mtime_ns,
                }
                for path, status in zip(inputs, map(os.stat, inputs), strict=True)
            ],
            "options": {**self._options, "format": format},
            "modules": {"source": modules.name, "missing": modules.missing},
            "parts": len(self._parts),
        }
        # A stream is written while its bytes are in the cache of a processor; a batch
        # of a Parquet file becomes a row group.
        self._most_rows = _STREAM_ROWS if format == "arrow" else None
        self._lock = threading.Lock()
        self._rows = self._done = 0

    def run(
        self,
        jobs: int,
        *,
        resume: bool = False,
        progress: Callable[[int, int, int], None] | None = None,
    ) -> BatchReport:
        """Write the parts that are not there.

        With *resume* the folder may have parts of the same run. *progress* is called
        with the work that is done, all work, in units of the inputs, and the number of
        rows.

        Raises:
            GsymError: The folder has parts of another run, or another process writes
                to it; a module is not found; or an input is damaged.
        """
        os.makedirs(self._output, exist_ok=True)
        with ExitStack() as stack:
            try:
                stack.enter_context(held(os.path.join(self._output, _LOCK), 0))
            except TimeoutError:
                reason = "another process writes to this folder"
                raise GsymError(reason, path=self._output) from None
            self._begin(resume=resume)
            waiting = [
                (number, name, unit)
                for number, (name, unit) in enumerate(self._parts)
                if not any(
                    os.path.exists(os.path.join(self._output, name + end))
                    for end in ("", EMPTY)
                )
            ]
            kept = len(self._parts) - len(waiting)
            self._work(waiting[::-1], jobs, progress)
            return BatchReport(len(self._parts), kept, self._rows)

    def _begin(self, *, resume: bool) -> None:
        path = os.path.join(self._output, MANIFEST)
        try:
            with open(path, encoding="utf-8") as file:
                known = json.load(file)
        except FileNotFoundError:
            # A run that was killed here leaves a temporary file.
            leftovers = (_LOCK, f".{MANIFEST}.")
            if not all(name.startswith(leftovers) for name in os.listdir(self._output)):
                reason = "the folder is not empty, and not of `gsym batch`"
                raise GsymError(reason, path=self._output) from None
        except ValueError:
            raise GsymError("the manifest is damaged", path=path) from None
        else:
            if not resume:
                reason = "the folder has parts already; --resume adds those missing"
                raise GsymError(reason, path=self._output)
            if known != self._manifest:
                reason = "the parts are of other inputs, options or modules"
                raise GsymError(reason, path=path)
        with AtomicFile(path, keep_same=True) as file:
            file.write(json.dumps(self._manifest, indent=1).encode())
        if self._options["output"] == "ids":
            os.makedirs(os.path.join(self._output, FRAMES), exist_ok=True)

    def _work(
        self,
        waiting: list[tuple[int, str, Unit]],
        jobs: int,
        progress: Callable[[int, int, int], None] | None,
    ) -> None:
        total = sum(unit.size for _, _, unit in waiting)

        def work() -> None:
            answering = _Answering(self._modules, self._options, self._most_rows)
            parts = (_Rows(*part, self._options) for part in taken_from(waiting))
            try:
                for first in parts:
                    share = 1 + len(waiting) // jobs
                    for part in answering.gathered(first, islice(parts, share)):
                        self._write(answering, part)
            except BaseException:
                waiting.clear()
                raise

        def poll() -> None:
            if progress is not None:
                progress(self._done, total, self._rows)

        run_workers(work, max(1, min(jobs, len(waiting))), poll, waiting.clear)

    def _write(self, answering: _Answering, part: _Rows) -> None:
        """Write a part: first the frames, as the part counts when it is there."""
        answering.begin_part(part.number)
        with _Part(self._output, part.name) as output:
            for batch, is_gathered in part:
                with self._lock:
                    self._rows += batch.num_rows
                with _errors_of(part.unit.path):
                    for answer in answering.answers(batch, is_gathered=is_gathered):
                        output.write(*answer)
        with self._lock:
            self._done += part.unit.size


@contextmanager
def _errors_of(path: str) -> Iterator[None]:
    """Name the input in errors about its columns."""
    try:
        yield
    except (KeyError, TypeError, ValueError) as error:
        raise GsymError(str(error.args[0]), path=path) from None


class _Rows:
    """The rows of a part, of which some batches may be read before."""

    def __init__(
        self, number: int, name: str, unit: Unit, options: dict[str, Any]
    ) -> None:
        self.number = number
        self.name = name
        self.unit = unit
        self._batches = batches_of(
            unit,
            address=options["address"],
            modules=options["module"],
            returns=options.get("return_address"),
        )
        self.gathered: list[Any] = []

    def __iter__(self) -> Iterator[tuple[Any, bool]]:
        """The batches, and whether they were read before."""
        for batch in self.gathered:
            yield batch, True
        for batch in self._batches:
            yield batch, False

    def gather(self) -> Any:
        """The next batch, which is kept; None after the last one."""
        batch = next(self._batches, None)
        if batch is not None:
            self.gathered.append(batch)
        return batch


class _Answering:
    """The answers of a thread.

    The addresses that it looked up are known to later parts; of these, ids of frames
    are the same in several parts.
    """

    def __init__(
        self, modules: Modules, options: dict[str, Any], most_rows: int | None
    ) -> None:
        self._modules = modules
        self._columns = dict(options)
        self._output = self._columns.pop("output")
        self._most_rows = most_rows
        self._known: Known | None = None
        self._learned_frames: list[Any] = []  # that no part has
        self._first_id = self._next_id = self._part_id = 0

    def begin_part(self, number: int) -> None:
        """Begin the part with this number."""
        self._part_id = number << _ID_BITS

    def gathered(self, first: _Rows, others: Iterator[_Rows]) -> list[_Rows]:
        """The part *first*, and *others* whose modules are opened together with its.

        This has more than one part only if not all modules can be open.
        """
        self.begin_part(first.number)
        self._begin(is_gathered=False)
        parts, batches, rows, size = [first], 0, 0, 0
        while rows < _MOST_GATHERED and size < _MOST_GATHERED_BYTES:
            batch = parts[-1].gather()
            if batch is not None:
                batches += 1
                rows, size = rows + batch.num_rows, size + batch.nbytes
                with _errors_of(parts[-1].unit.path):
                    if batches == 1 and not self._modules.do_not_fit(
                        module_count(batch, self._columns["module"])
                    ):
                        break
            elif (part := next(others, None)) is not None:
                parts.append(part)
            else:
                break
        if batches > 1:
            self._learn(parts)
        return parts

    def _learn(self, parts: list[_Rows]) -> None:
        known = self._begin(is_gathered=False)
        if self._output != "ids":
            known = self._known = Known(keeps_frames=True)
        by_schema: dict[Any, list[tuple[str, Any]]] = {}
        for part in parts:
            for batch in filter(len, part.gathered):
                by_schema.setdefault(batch.schema, []).append((part.unit.path, batch))
        for same in by_schema.values():
            batches = [batch for _, batch in same]
            try:
                frames = learn(
                    batches, self._modules, known, self._first_id, **self._columns
                )
            except (KeyError, TypeError, ValueError):
                for path, batch in same:
                    with _errors_of(path):
                        AddressRows(batch, **self._columns)
                raise
            if frames is not None:
                self._learned_frames.append(frames)
                self._next_id += frames.num_rows

    def answers(self, batch: Any, *, is_gathered: bool) -> Iterator[tuple[Any, ...]]:
        """The rows of a batch, and with output `ids` the new frames."""
        for piece in slices_of(batch):
            known = self._begin(is_gathered=is_gathered)
            if self._output == "ids":
                rows, frames = frame_ids(
                    piece, self._modules, known, self._first_id, **self._columns
                )
                self._next_id += frames.num_rows
                while self._learned_frames:
                    yield rows.slice(0, 0), self._learned_frames.pop(0)
                yield rows, frames
            else:
                yield from (
                    (part,)
                    for part in answer_parts(
                        piece,
                        self._modules,
                        self._output,
                        known,
                        self._most_rows,
                        **self._columns,
                    )
                )

    def _begin(self, *, is_gathered: bool) -> Known:
        """Answers known before a batch; of a gathered one, those that were learned."""
        known = self._known
        if known is not None and known.learned and is_gathered:
            return known
        if self._output != "ids":
            known = self._known = Known()
        elif known is None or known.size > _MOST_KNOWN:
            # With ids that neither this part nor another one has.
            known = self._known = Known()
            self._first_id = self._next_id = max(self._next_id, self._part_id)
        known.learned.clear()
        return known


class _Part:
    """The files of a part, published at the end of a `with` block without an error."""

    def __init__(self, folder: str, name: str) -> None:
        self._path = os.path.join(folder, name)
        self._frames_path = os.path.join(folder, FRAMES, name)
        self._files = ExitStack()
        self._rows: Any = None
        self._frames: Any = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._rows is None and kind is None:
            with AtomicFile(self._path + EMPTY):
                pass
        self._files.__exit__(kind, error, traceback)

    def write(self, answer: Any, frames: Any = None) -> None:
        """Append rows, and frames."""
        if self._rows is None:
            # Files are published in the reverse order.
            self._rows = self._open(self._path, answer.schema)
            if frames is not None:
                self._frames = self._open(self._frames_path, frames.schema)
        self._rows.write_batch(answer)
        if frames is not None:
            self._frames.write_batch(frames)

    def _open(self, path: str, schema: Any) -> Any:
        sink = pa.PythonFile(_Sink(self._files.enter_context(AtomicFile(path))), "w")
        if path.endswith(_STREAM_SUFFIX):
            return self._files.enter_context(pa.ipc.new_stream(sink, schema))
        import pyarrow.parquet as pq

        leaves = _leaves(schema)
        # Dictionaries of integers would be as long as their columns.
        encodings = {
            path: "DELTA_BINARY_PACKED"
            for path, kind in leaves.items()
            if pa.types.is_integer(kind)
        }
        writer = pq.ParquetWriter(
            sink,
            schema,
            column_encoding=encodings,
            use_dictionary=[path for path in leaves if path not in encodings],
            # To find the least and the greatest text of frames takes as long as to
            # write them, and helps no search.
            write_statistics=[
                path for path in leaves if not path.endswith(_FRAME_TEXTS)
            ],
        )
        return self._files.enter_context(writer)


def _leaves(fields: Any, above: str = "") -> dict[str, Any]:
    """The columns of a Parquet file and their types, by path."""
    found: dict[str, Any] = {}
    for field in fields:
        path, kind = above + field.name, field.type
        while pa.types.is_list(kind) or pa.types.is_large_list(kind):
            path, kind = f"{path}.list.element", kind.value_type
        if pa.types.is_struct(kind):
            found |= _leaves(kind, f"{path}.")
        else:
            found[path] = kind
    return found


class _Sink:
    """An `AtomicFile` as pyarrow writes to it."""

    closed = False

    def __init__(self, file: AtomicFile) -> None:
        self._file = file

    def write(self, data: Any) -> None:
        self._file.write(data)

    def flush(self) -> None:
        """The file is synced when it is published."""

    def close(self) -> None:
        """The file is closed when it is published."""
