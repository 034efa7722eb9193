"""The engine's answers as Arrow columns: the frames once, and which ones a row has."""

from __future__ import annotations

from collections.abc import Iterable
from copy import copy
from typing import Any

from gsym.arrow.rows import pa
from gsym.engine.native import check, ffi, kept_view, lib, new_error, new_object
from gsym.model import DAMAGED, NO_FUNCTION
from gsym.records import NamedTuple

CData = Any  # a cffi object
Column = Any  # an array of pyarrow
FRAME_FIELDS = ("name", "path", "line", "inlined", "offset")
_NUMBERS = {"names": 32, "files": 32, "lines": 32, "offsets": 64}  # and their bits
_FLAGS = ("has_name", "has_file", "has_line", "answered", "inlined")
REASONS = (NO_FUNCTION, DAMAGED, "no address", "no module")


class Outcome(NamedTuple):
    """The search for a module."""

    reason: str  # why it was not found; "" if it was
    unsure: str | None  # why it may be another build


class Known:
    """The addresses that were looked up, and the numbers of their frames.

    With *keeps_frames* also these: then later answers have all frames of their rows.
    """

    def __init__(self, *, keeps_frames: bool = False) -> None:
        # for the engine
        life = lib.gsym_known_create, lib.gsym_known_destroy
        self.known: Any = new_object("known", *life, keeps_frames)
        self.keeps_frames = keeps_frames
        self.modules: dict[bytes | str, int] = {}  # number of each module
        # number of each reason that the engine was given
        self.reasons: dict[str, int] = {}
        # the modules of which all addresses of the next rows are known
        self.learned: dict[bytes | str, Outcome] = {}

    @property
    def size(self) -> int:
        """Bytes."""
        return int(lib.gsym_known_size(self.known))


class Answers:
    """The answers to `AddressRows`, before others that use the same `Known`.

    *bulk* are the engine's answers, *reasons* those that it was given. *unsure* says
    why the module of each address may be another build; null if it is sure.
    """

    def __init__(
        self, bulk: CData, rows: int, reasons: Iterable[str], unsure: Column
    ) -> None:
        self._bulk = bulk
        self.first: int = 0  # number of the first address
        self.count: int = rows
        self._reasons = pa.array(["", *REASONS, *reasons], pa.string())
        self.unsure = unsure
        self._view = ffi.new("gsym_bulk_columns *")
        lib.gsym_bulk_view(bulk, self._view)
        # number of the first frame; older ones were in other answers
        self.first_frame: int = int(self._view.first_frame)
        view = self._view
        self._texts = self._strings(view.name_texts), self._strings(view.file_texts)

    def part(self, first: int, count: int) -> Answers:
        """The answers to some of the addresses."""
        part = copy(self)
        part.first, part.count = self.first + first, count
        part.unsure = self.unsure.slice(first, count)
        return part

    def _numbers(self, values: CData, count: int, kind: str) -> Column:
        wanted = getattr(pa, kind)()
        view = kept_view(values, count * wanted.bit_width // 8, self._bulk)
        return pa.Array.from_buffers(wanted, count, [None, pa.py_buffer(view)])

    def _strings(self, texts: CData) -> Column:
        offsets = self._numbers(texts.offsets, texts.count + 1, "int32")
        size = texts.offsets[texts.count]
        view = kept_view(texts.bytes, size, self._bulk)
        ends, data = offsets.buffers()[1], pa.py_buffer(view)
        return pa.StringArray.from_buffers(texts.count, ends, data)

    def frames(self, offsets: Column | None = None) -> Column:
        """The frames of the rows, in lists that begin at *offsets*, as structs.

        Without *offsets*, the new frames, each once. A frame in place of an answer has
        nulls. With *offsets*, no address may have been known before whose frames were
        not kept.
        """
        count = self._view.frame_count if offsets is None else offsets[-1].as_py()
        bits = _NUMBERS | dict.fromkeys(_FLAGS, 1)
        room = {name: pa.allocate_buffer(-(-bits[name] * count // 8)) for name in bits}
        columns = ffi.new("gsym_frame_columns *")
        for name, buffer in room.items():
            kind = f"uint{max(bits[name], 8)}_t[]"
            place = ffi.from_buffer(kind, buffer, require_writable=True)
            setattr(columns, name, place)
        starts = ffi.NULL
        if offsets is not None:
            starts = ffi.from_buffer("int32_t[]", offsets.buffers()[1])
        lib.gsym_bulk_frames(self._bulk, self.first, self.count, starts, columns)

        def column(kind: Any, valid: str, values: str) -> Column:
            return pa.Array.from_buffers(kind, count, [room[valid], room[values]])

        def text(valid: str, values: str, texts: Column) -> Column:
            codes = column(pa.int32(), valid, values)
            return pa.DictionaryArray.from_arrays(codes, texts, safe=False)

        names, files = self._texts
        arrays = (
            text("has_name", "names", names),
            text("has_file", "files", files),
            column(pa.uint32(), "has_line", "lines"),
            column(pa.bool_(), "answered", "inlined"),
            column(pa.uint64(), "answered", "offsets"),
        )
        return pa.StructArray.from_arrays(arrays, FRAME_FIELDS)

    def reasons(self) -> Column:
        """Reason why a row has no answer; null if it has one."""
        view = self._view
        numbers = self._numbers(view.reasons, view.stack_count, "int32")
        rows = self._numbers(view.stacks + self.first, self.count, "uint32")
        codes = numbers.take(rows)
        known = pa.compute.if_else(pa.compute.equal(codes, 0), None, codes)
        return pa.DictionaryArray.from_arrays(known, self._reasons)

    def offsets(self, *, misses: bool) -> Column:
        """The offsets of each row's list of frames.

        Raises:
            LimitError: There are too many frames.
        """
        error = new_error()
        room = pa.allocate_buffer(4 * (self.count + 1))
        starts = ffi.from_buffer("int32_t[]", room, require_writable=True)
        status = lib.gsym_bulk_offsets(
            self._bulk, self.first, self.count, misses, starts, error
        )
        check(status, error)
        return pa.Array.from_buffers(pa.int32(), self.count + 1, [None, room])

    def numbers(self, offsets: Column) -> Column:
        """The numbers of the frames in these lists."""
        count = offsets[-1].as_py()
        room = pa.allocate_buffer(4 * count)
        if count:
            starts = ffi.from_buffer("int32_t[]", offsets.buffers()[1])
            numbers = ffi.from_buffer("uint32_t[]", room, require_writable=True)
            lib.gsym_bulk_items(self._bulk, self.first, self.count, starts, numbers)
        return pa.Array.from_buffers(pa.uint32(), count, [None, room])
