"""Symbolize the rows of files into a folder of parts, which may be stopped and resumed.

    OUT/manifest.json                    what the parts are made of
    OUT/part-INPUT-UNIT.parquet          the rows of a unit, in their order
    OUT/frames/part-INPUT-UNIT.parquet   with output `ids`: the frames that they have

A part is renamed into place when it is complete, so that those that exist are done.
"""

from __future__ import annotations

import json
import os
import threading
from contextlib import ExitStack

from gsym.arrow.inputs import batches_of, units_of
from gsym.arrow.rows import import_pyarrow
from gsym.arrow.symbolizing import symbolize_batches
from gsym.engine.workers import run_workers
from gsym.errors import GsymError
from gsym.records import NamedTuple
from gsym.store.locking import held
from gsym.writing.atomic_file import AtomicFile

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from types import TracebackType
    from typing import Any

    from typing_extensions import Self

    from gsym.arrow.inputs import Unit
    from gsym.arrow.modules import Modules

MANIFEST = "manifest.json"
FRAMES = "frames"
EMPTY = ".empty"  # after the name of a part without rows, which has no schema
_STREAM_SUFFIX = ".arrows"  # a stream may have another dictionary in each batch
FORMATS = {"parquet": ".parquet", "arrow": _STREAM_SUFFIX}
_LOCK = ".lock"
_ID_BITS = 32  # of a frame in its part; the part is in the bits above


class BatchReport(NamedTuple):
    """What a run has done.

    Attributes:
        parts: Number of parts that are complete now.
        kept: Number of those that were before.
        rows: Rows of the inputs that this run has read.
    """

    parts: int
    kept: int
    rows: int


class BatchJob:
    """The inputs and the output of a run.

    Args:
        inputs: Files of rows.
        output: The folder of the parts.
        modules: Where modules are found.
        options: As for `symbolize`.
        format: Of the parts: "parquet" or "arrow".

    Raises:
        FormatError: An input is damaged.
        OSError: An input cannot be read.
        UnsupportedError: The format of an input is unknown.
    """

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
            "inputs": [_described(path) for path in inputs],
            "options": {**self._options, "format": format},
            "parts": len(self._parts),
        }
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

        Args:
            jobs: Number of threads, each of which works on a part.
            resume: Whether the folder may have parts of the same run.
            progress: Called with the work that is done, all work, in units of the
                inputs, and the number of rows.

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
                if not self._has(name)
            ]
            kept = len(self._parts) - len(waiting)
            self._work(waiting[::-1], jobs, progress)
            return BatchReport(len(self._parts), kept, self._rows)

    def _has(self, name: str) -> bool:
        path = os.path.join(self._output, name)
        return os.path.exists(path) or os.path.exists(path + EMPTY)

    def _begin(self, *, resume: bool) -> None:
        path = os.path.join(self._output, MANIFEST)
        try:
            with open(path, encoding="utf-8") as file:
                known = json.load(file)
        except FileNotFoundError:
            # A run that was killed here leaves a temporary file.
            own = (_LOCK, f".{MANIFEST}.")
            if not all(name.startswith(own) for name in os.listdir(self._output)):
                reason = "the folder is not empty, and not of `gsym batch`"
                raise GsymError(reason, path=self._output) from None
        except ValueError:
            raise GsymError("the manifest is damaged", path=path) from None
        else:
            if not resume:
                reason = "the folder has parts already; --resume adds those missing"
                raise GsymError(reason, path=self._output)
            if known != self._manifest:
                reason = "the parts are of other inputs or options"
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
            while waiting:
                try:
                    part = waiting.pop()
                except IndexError:
                    return
                try:
                    self._write(*part)
                except BaseException:
                    waiting.clear()
                    raise

        def poll() -> None:
            if progress is not None:
                progress(self._done, total, self._rows)

        run_workers(work, max(1, min(jobs, len(waiting))), poll, waiting.clear)

    def _write(self, number: int, name: str, unit: Unit) -> None:
        """Write a part: first the frames, as the part counts when it is there."""
        options = self._options
        batches = batches_of(
            unit, address=options["address"], modules=options["module"]
        )
        part = _Part(self._output, name, number << _ID_BITS)
        with part:
            for batch in batches:
                with self._lock:
                    self._rows += batch.num_rows
                try:
                    for answer in symbolize_batches([batch], self._modules, **options):
                        part.write(answer)
                except (KeyError, TypeError, ValueError) as error:
                    raise GsymError(str(error.args[0]), path=unit.path) from None
        with self._lock:
            self._done += unit.size


class _Part:
    """The files of a part, published at the end of a `with` block without an error."""

    def __init__(self, folder: str, name: str, first_id: int) -> None:
        self._path = os.path.join(folder, name)
        self._frames_path = os.path.join(folder, FRAMES, name)
        self._next_id = first_id
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

    def write(self, answer: Any) -> None:
        """Append what `symbolize` returns."""
        frames = None
        if isinstance(answer, tuple):
            answer, frames = answer
            answer, frames = _numbered(answer, frames, self._next_id)
            self._next_id += frames.num_rows
        if self._rows is None:
            # Files are published in the reverse order.
            self._rows = self._open(self._path, answer.schema)
            if frames is not None:
                self._frames = self._open(self._frames_path, frames.schema)
        self._rows.write_batch(answer)
        if frames is not None:
            self._frames.write_batch(frames)

    def _open(self, path: str, schema: Any) -> Any:
        pa = import_pyarrow()
        sink = pa.PythonFile(_Sink(self._files.enter_context(AtomicFile(path))), "w")
        if path.endswith(_STREAM_SUFFIX):
            return self._files.enter_context(pa.ipc.new_stream(sink, schema))
        import pyarrow.parquet as pq

        encodings = _encodings(schema)
        writer = pq.ParquetWriter(
            sink,
            schema,
            column_encoding=encodings,
            use_dictionary=[path for path in _leaves(schema) if path not in encodings],
        )
        return self._files.enter_context(writer)


def _encodings(schema: Any) -> dict[str, str]:
    """The columns of integers, whose dictionaries would be as long as they are."""
    pa = import_pyarrow()
    return {
        path: "DELTA_BINARY_PACKED"
        for path, kind in _leaves(schema).items()
        if pa.types.is_integer(kind)
    }


def _leaves(fields: Any, above: str = "") -> dict[str, Any]:
    """The columns of a Parquet file and their types, by path."""
    pa = import_pyarrow()
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
        self._size = 0

    def write(self, data: Any) -> None:
        self._file.write(data)
        self._size += len(data)

    def tell(self) -> int:
        return self._size

    def flush(self) -> None:
        """The file is synced when it is published."""

    def close(self) -> None:
        """The file is closed when it is published."""


def _numbered(rows: Any, frames: Any, first: int) -> tuple[Any, Any]:
    """Rows and frames with ids from *first* on, which no other part has."""
    pa = import_pyarrow()
    added = pa.scalar(first, pa.uint64())
    index = rows.schema.get_field_index("frame_ids")
    lists = rows.column(index)
    moved = pa.ListArray.from_arrays(
        lists.offsets,
        pa.compute.add(lists.values.cast(pa.uint64()), added),
        mask=lists.is_null(),
    )
    ids = pa.compute.add(frames.column(0).cast(pa.uint64()), added)
    return (
        rows.set_column(index, "frame_ids", moved),
        frames.set_column(0, "frame_id", ids),
    )


def _described(path: str) -> dict[str, Any]:
    status = os.stat(path)
    return {
        "path": os.path.abspath(path),
        "size": status.st_size,
        "modified": status.st_mtime_ns,
    }
