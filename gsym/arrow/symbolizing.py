"""Look up the addresses of Arrow record batches, in modules that the rows name."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Protocol

from gsym.arguments import choice_of, refusal
from gsym.arrow.answers import FRAME_FIELDS, Answers, Known, Outcome
from gsym.arrow.modules import Modules
from gsym.arrow.rows import AddressRows, Part, import_pyarrow
from gsym.engine.native import check, ffi, lib, new_error, new_object
from gsym.modules.open_module import OpenModule
from gsym.store.directory import Store

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    import pyarrow as pa
else:
    from gsym.arrow.rows import pa

# the modules of rows by number
_Outcomes = dict[int, tuple[bytes | str, Outcome]]

OUTPUTS = ("stack", "frames", "ids")
_REMARKS = ("reason", "unsure")
_MOST_ROWS = 1 << 20  # of one call


class Finding(Protocol):
    """Finds modules, as `Modules` does."""

    def find(self, module: bytes | str) -> OpenModule:
        """A module, without a reader if it is not found."""


class Streaming(Protocol):
    """A table of any library that has Arrow's C interface."""

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """The rows as a stream."""


def symbolize(  # noqa: PLR0913 - independent keywords
    batch: pa.RecordBatch | pa.Table | Streaming,
    modules: Finding | str | os.PathLike[str] | Store,
    *,
    module: str = "build_id",
    address: str = "address",
    return_address: bool | str | None = None,
    base: int | str | None = None,
    output: str = "stack",
) -> Any:
    """Look up the addresses of a batch, each distinct one of a module once.

    The engine's part runs without the interpreter lock. Name, path and reason are
    dictionary-encoded; unknown paths and lines are null.

    Args:
        batch: A record batch, a table, or what has `__arrow_c_stream__`, such as data
            frames of pandas and Polars. Its other columns are kept.
        modules: Where modules are found: `Modules`, or what they are made of, a store,
            a folder or a URL. For several batches make them once.
        module: Column of build ids as binary; or as text of build ids, debug ids,
            NAME/CODEID or names.
        address: Column of integers, of which negative ones count modulo 2**64; of
            texts, also hexadecimal with `0x`; or of lists of either, each a stack. The
            columns that *module*, *return_address* and *base* name then have a value
            for each row, or lists of the same lengths.
        return_address: Column that says whether an address is where a call returns to,
            which is after the call: the byte before it is looked up. True: all are.
        base: Column of the addresses where modules are loaded, or one for all rows. By
            default addresses are link-time addresses.
        output: "stack": columns `stack`, a list of frames, innermost first, null
            without an answer, and `reason`; "frames": a row for each frame, and one
            with a reason for an address without an answer; "ids": `frame_ids`, which
            name rows of a table by their `frame_id`.

    Returns:
        A record batch, for anything else a table, in the order of the rows. Its column
            `unsure` says why the module may be another build than the one that was
            asked for; null if it is that one. In a stack of several addresses, one
            without an answer has a frame of nulls, and `reason` and `unsure` are lists
            with an item for each address. For "ids", the batch and the table of frames.

    Raises:
        GsymError: A module is not found, and `modules` was to raise; or there are too
            many frames in the batch.
        KeyError: There is no such column.
        TypeError: A column has another type.
        UnsupportedError: The package pyarrow is missing.
        ValueError: An argument is invalid.
    """
    choice_of("output", output, OUTPUTS)
    import_pyarrow()
    found: Any = modules
    if isinstance(found, (str, bytes)) or not hasattr(found, "find"):
        found = Modules(found)
    columns = {"module": module, "address": address, "base": base}
    columns["return_address"] = return_address
    if not isinstance(batch, pa.RecordBatch):
        return _of_table(_table(batch), found, output, columns)
    if output == "ids":
        return frame_ids(batch, found, Known(), None, **columns)
    return next(answer_parts(batch, found, output, Known(), None, **columns))


def _table(data: Any) -> Any:
    """An Arrow table of anything that is one."""
    if isinstance(data, pa.Table):
        return data
    if not hasattr(data, "__arrow_c_stream__"):
        expected = "a record batch, a table or an object with __arrow_c_stream__"
        raise refusal("batch", expected, data)
    return pa.RecordBatchReader.from_stream(data).read_all()


def _of_table(
    table: Any, modules: Finding, output: str, options: dict[str, Any]
) -> Any:
    """The answers to a table, as one table; for "ids", the frames as another one."""
    batches = table.to_batches()
    batches = batches or [pa.RecordBatch.from_pylist([], table.schema)]
    if output != "ids":
        options["output"] = output
        return pa.Table.from_batches([*symbolize_batches(batches, modules, **options)])
    known = Known()
    answers: list[Any] = []
    frames: list[Any] = []
    for each in (piece for batch in batches for piece in slices_of(batch)):
        answer, more = frame_ids(each, modules, known, 0, **options)
        answers.append(answer)
        frames.append(more)
    return pa.Table.from_batches(answers), pa.Table.from_batches(frames)


def frame_ids(
    batch: pa.RecordBatch,
    modules: Finding,
    known: Known,
    first: int | None,
    **columns: Any,
) -> tuple[pa.RecordBatch, pa.RecordBatch]:
    """Symbolize one of several batches, as `symbolize` does with the output "ids".

    *known* is what the batches before had, *first* the id of the first frame of all.

    Returns:
        The batch with `frame_ids`, of 64 bits unless *first* is None, and a table of
            the frames that no batch before had.
    """
    rows = AddressRows(batch, **columns)
    answers = _look_up(rows, modules, known)
    lists = _lists(
        rows.part(0, batch.num_rows),
        answers,
        lambda offsets: _as_ids(answers.numbers(offsets), first),
    )
    columns = dict(zip(("frame_ids", *_REMARKS), lists, strict=True))
    return _appended(batch, columns), _frame_table(answers, first)


def learn(
    batches: list[pa.RecordBatch],
    modules: Finding,
    known: Known,
    first: int,
    **columns: Any,
) -> pa.RecordBatch | None:
    """Make the addresses of batches known, so that their rows need no modules any more.

    Until `known.learned` is emptied, only addresses of these batches can be asked.

    Returns:
        The new frames, as from `frame_ids`, if *known* does not keep them.
    """
    names = {each for each in columns.values() if isinstance(each, str)}
    wanted = [each for each in batches[0].schema.names if each in names]
    table = pa.Table.from_batches([each.select(wanted) for each in batches])
    (batch,) = table.combine_chunks().to_batches()
    rows = AddressRows(batch, **columns)
    before, known.learned = known.learned, {}  # which have other addresses
    bulk, outcomes = _ask(rows, modules, known)
    known.learned = before | dict(outcomes.values())
    if known.keeps_frames:
        return None
    return _frame_table(_answers(rows, bulk, outcomes, known), first)


def answer_parts(
    batch: pa.RecordBatch,
    modules: Finding,
    output: str,
    known: Known,
    most_rows: int | None,
    **columns: Any,
) -> Iterator[pa.RecordBatch]:
    """Symbolize a batch, as `symbolize` does with the outputs "stack" and "frames".

    The addresses of the batch are looked up together. *known* is new, or keeps frames.

    Yields:
        The answers to at most *most_rows* rows; None: to all.
    """
    rows = AddressRows(batch, **columns)
    answers = _look_up(rows, modules, known)
    count = max(batch.num_rows, 1)
    for first in range(0, count, most_rows or count):
        some = batch.slice(first, most_rows)
        part = rows.part(first, some.num_rows)
        found = answers.part(part.first, part.size)
        if output == "frames":
            yield _frame_rows(some, part, found, columns["address"])
        else:
            stacks = _lists(part, found, found.frames)
            names = "stack", *_REMARKS
            yield _appended(some, dict(zip(names, stacks, strict=True)))


def symbolize_batches(
    batches: Iterable[pa.RecordBatch], modules: Finding, **options: Any
) -> Iterator[Any]:
    """The answers to many batches; large ones are split.

    Args:
        batches: Record batches.
        modules: Where modules are found.
        options: As for `symbolize`.

    Yields:
        What `symbolize` returns.
    """
    for batch in batches:
        for piece in slices_of(batch):
            yield symbolize(piece, modules, **options)


def slices_of(batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    """The batch in pieces that are small enough for one call; at least one."""
    for first in range(0, max(batch.num_rows, 1), _MOST_ROWS):
        yield batch.slice(first, _MOST_ROWS)


def _look_up(rows: AddressRows, modules: Finding, known: Known) -> Answers:
    return _answers(rows, *_ask(rows, modules, known), known)


def _ask(rows: AddressRows, modules: Finding, known: Known) -> tuple[Any, _Outcomes]:
    """The engine's answers, and the outcome of each module."""
    create, destroy = lib.gsym_bulk_create, lib.gsym_bulk_destroy
    bulk = new_object("bulk", create, destroy, rows.rows, known.known)
    error = new_error()
    count = rows.rows.module_count
    numbers = [each for each in range(count) if lib.gsym_bulk_rows_of(bulk, each)]
    values = rows.modules.take(pa.array(numbers, pa.int64())).to_pylist()
    named = [*zip(numbers, values, strict=True)]
    if isinstance(modules, Modules) and not known.learned:
        named = modules.open_first(named)
    if known.keeps_frames:
        known.reasons.clear()  # those of earlier rows
    outcomes: _Outcomes = {}
    damaged = ffi.new("uint64_t *")
    note = getattr(modules, "note_damage", lambda *_: None)
    for number, value in named:
        if not value:
            status = lib.gsym_bulk_miss(bulk, number, lib.GSYM_MISS_NO_MODULE, error)
            check(status, error)
            continue
        image, path = ffi.NULL, None
        outcome = known.learned.get(value)
        if outcome is None:
            found = modules.find(value)
            outcome = Outcome(found.reason, found.unsure or None)
            if found.reader is not None:
                image, path = found.image, found.reader.path
        outcomes[number] = value, outcome
        if outcome.reason:
            following = lib.GSYM_MISS_OTHERS + len(known.reasons)
            reason = known.reasons.setdefault(outcome.reason, following)
            check(lib.gsym_bulk_miss(bulk, number, reason, error), error)
        else:
            module = known.modules.setdefault(value, len(known.modules))
            status = lib.gsym_bulk_look_up(bulk, number, module, image, error)
            check(status, error, path)
            if image != ffi.NULL and lib.gsym_bulk_damaged(bulk, damaged):
                note(value, found.reader, int(damaged[0]))
    return bulk, outcomes


def _answers(
    rows: AddressRows, bulk: Any, outcomes: _Outcomes, known: Known
) -> Answers:
    error = new_error()
    check(lib.gsym_bulk_end(bulk, error), error)
    unsure: list[str | None] = [None] * (rows.rows.module_count + 1)
    for number, (_, outcome) in outcomes.items():
        unsure[number] = outcome.unsure
    texts = pa.array(unsure, pa.string()).dictionary_encode().take(rows.codes)
    return Answers(bulk, rows.rows.count, known.reasons, texts)


def _appended(batch: Any, columns: dict[str, Any]) -> Any:
    if taken := [name for name in columns if name in batch.schema.names]:
        raise ValueError(f"the batch has a column '{taken[0]}' already")
    return pa.RecordBatch.from_arrays(
        [*batch.columns, *columns.values()], [*batch.schema.names, *columns]
    )


def _lists(
    rows: Part, answers: Answers, values: Callable[[Any], Any]
) -> tuple[Any, Any, Any]:
    """A list for each row of the batch, why others have none, and what is unsure.

    *values* makes the items of lists that begin at some offsets.
    """
    offsets = answers.offsets(misses=rows.lists is not None)
    items = values(offsets)
    reasons, unsure = answers.reasons(), answers.unsure
    no_list = reasons.is_valid()
    if rows.lists is not None:
        offsets, no_list = offsets.take(rows.lists), rows.null_lists
        reasons, unsure = (
            pa.ListArray.from_arrays(rows.lists, each, mask=no_list)
            for each in (reasons, unsure)
        )
    lists = pa.ListArray.from_arrays(offsets, items, mask=no_list)
    return lists, reasons, unsure


def _as_ids(numbers: Any, first: int | None) -> Any:
    """Numbers of frames as ids, of 64 bits unless *first* is None."""
    if first is None:
        return numbers
    return pa.compute.add(numbers, pa.scalar(first, pa.uint64()))


def _frame_table(answers: Answers, first: int | None) -> Any:
    """The new frames with their ids."""
    frames = answers.frames()
    ones = pa.repeat(pa.scalar(1, pa.uint32()), len(frames))
    start = pa.scalar(answers.first_frame, pa.uint32())
    numbers = pa.compute.cumulative_sum(ones, start=start)
    ids = _as_ids(pa.compute.subtract(numbers, ones), first)
    return pa.RecordBatch.from_arrays(
        [ids, *frames.flatten()], ["frame_id", *FRAME_FIELDS]
    )


def _frame_rows(batch: Any, rows: Part, answers: Answers, address: str) -> Any:
    """A row for each frame, with the other columns of its row of the batch."""
    offsets = answers.offsets(misses=True)
    frames = answers.frames(offsets)
    parents = pa.compute.list_parent_indices(pa.ListArray.from_arrays(offsets, frames))
    columns = dict(zip(FRAME_FIELDS, frames.flatten(), strict=True))
    remarks = answers.reasons(), answers.unsure
    columns |= {
        name: each.take(parents) for name, each in zip(_REMARKS, remarks, strict=True)
    }
    if rows.parents is None:
        return _appended(batch.take(parents), columns)
    index = batch.schema.get_field_index(address)
    single = batch.column(index).flatten().take(parents)
    others = batch.drop_columns([address]).take(rows.parents.take(parents))
    return _appended(others.add_column(index, address, single), columns)
