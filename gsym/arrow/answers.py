"""The engine's answers as Arrow columns: the frames once, and which ones a row has."""

from __future__ import annotations

from gsym.engine.native import check, ffi, kept_view, lib, new_error, new_object
from gsym.model import DAMAGED, NO_FUNCTION

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from typing import Any

    CData = Any  # a cffi object
    Column = Any  # an array of pyarrow

FRAME_FIELDS = ("name", "path", "line", "inlined", "offset")
REASONS = (NO_FUNCTION, DAMAGED, "no address", "no module")


class Known:
    """The addresses that were looked up, and the numbers of their frames."""

    def __init__(self) -> None:
        # for the engine
        life = lib.gsym_known_create, lib.gsym_known_destroy
        self.known: Any = new_object("known", *life)
        self.modules: dict[bytes | str, int] = {}  # number of each module
        # number of each reason that the engine was given
        self.reasons: dict[str, int] = {}

    @property
    def size(self) -> int:
        """Bytes."""
        return int(lib.gsym_known_size(self.known))


class Answers:
    """The answers to `AddressRows`, before others that use the same `Known`.

    *bulk* are the engine's answers, *known* what was known, now with these. *unsure*
    says why the module of each row may be another build; null if it is sure.
    """

    def __init__(
        self, pa: Any, bulk: CData, rows: int, known: Known, unsure: Column
    ) -> None:
        self._pa = pa
        self._bulk = bulk
        self._count = rows
        self._known = known
        self.unsure = unsure
        self._view = ffi.new("gsym_bulk_columns *")
        lib.gsym_bulk_view(bulk, self._view)
        # number of the first frame; older ones were in other answers
        self.first_frame: int = int(self._view.first_frame)

    def _numbers(self, values: CData, count: int, kind: str) -> Column:
        wanted = getattr(self._pa, kind)()
        view = kept_view(values, count * wanted.bit_width // 8, self._bulk)
        return self._pa.Array.from_buffers(
            wanted, count, [None, self._pa.py_buffer(view)]
        )

    def _texts(self, texts: CData) -> Column:
        offsets = self._numbers(texts.offsets, texts.count + 1, "int32")
        size = texts.offsets[texts.count]
        view = kept_view(texts.bytes, size, self._bulk)
        buffers = [None, offsets.buffers()[1], self._pa.py_buffer(view)]
        return self._pa.StringArray.from_buffers(texts.count, *buffers[1:])

    def frames(self) -> Any:
        """New frames, as an array of structs; those in place of an answer are null."""
        pa, view = self._pa, self._view
        count = view.frame_count

        def text(codes: CData, texts: CData) -> Column:
            return self._encoded(
                self._numbers(codes, count, "int32"), self._texts(texts)
            )

        def known(values: Column) -> Column:
            return pa.compute.if_else(answered, values, None)

        answered = pa.compute.equal(self._numbers(view.misses, count, "uint8"), 0)
        lines = self._numbers(view.lines, count, "uint32")
        inlined = self._numbers(view.inlined, count, "uint8").cast(pa.bool_())
        columns = {
            "name": text(view.names, view.name_texts),
            "path": text(view.files, view.file_texts),
            "line": pa.compute.if_else(pa.compute.equal(lines, 0), None, lines),
            "inlined": known(inlined),
            "offset": known(self._numbers(view.offsets, count, "uint64")),
        }
        return pa.StructArray.from_arrays(list(columns.values()), list(columns))

    def reasons(self) -> Column:
        """Reason why a row has no answer; null if it has one."""
        pa, view = self._pa, self._view
        numbers = self._numbers(view.reasons, view.stack_count, "int32")
        texts = pa.array(["", *REASONS, *self._known.reasons], pa.string())
        rows = self._numbers(view.stacks, self._count, "uint32")
        return self._encoded(numbers.take(rows), texts)

    def _encoded(self, codes: Column, texts: Column) -> Column:
        """Texts by their numbers, of which 0 is null."""
        pa = self._pa
        known = pa.compute.if_else(pa.compute.equal(codes, 0), None, codes)
        return pa.DictionaryArray.from_arrays(known, texts)

    def items(self, *, misses: bool) -> tuple[Column, Column]:
        """The offsets of each row's list of frames, and numbers of the lists' frames.

        Raises:
            LimitError: There are too many.
        """
        pa, error = self._pa, new_error()
        offsets = pa.allocate_buffer(4 * (self._count + 1))
        starts = ffi.from_buffer("int32_t[]", offsets, require_writable=True)
        check(lib.gsym_bulk_offsets(self._bulk, misses, starts, error), error)
        total = starts[self._count]
        items = pa.allocate_buffer(4 * total)
        if total:
            room = ffi.from_buffer("uint32_t[]", items, require_writable=True)
            lib.gsym_bulk_items(self._bulk, starts, room)
        return (
            pa.Array.from_buffers(pa.int32(), self._count + 1, [None, offsets]),
            pa.Array.from_buffers(pa.uint32(), total, [None, items]),
        )
