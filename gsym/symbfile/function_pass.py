"""One pass over the functions of a GSYM file, which makes ranges and return pads."""

from __future__ import annotations

from operator import attrgetter

from gsym.engine.native import check, ffi, lib, new_error
from gsym.symbfile.format import Encoder
from gsym.symbfile.names import ImageNames

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    from gsym.reading.reader import Reader
    from gsym.symbfile.calls import Calls
    from gsym.symbfile.names import NameTexts

_ENTRIES_AT_ONCE = 1 << 10


class FunctionPass:
    """The engine's handle for one pass.

    Args:
        reader: The file; it stays open until the last step.
        texts: Of its names.
        part_size: Of each output; None: one file.
        progress: Called with (entries visited, entries in all).
    """

    def __init__(
        self,
        reader: Reader,
        texts: NameTexts,
        part_size: int | None = None,
        progress: Callable[[int, int], None] | None = None,
    ) -> None:
        self._reader = reader
        self._texts = texts
        self._part_size = part_size
        self._progress = progress
        self._error: Any = new_error()
        self._wanted: list[tuple[Encoder, ImageNames]] = []
        place = ffi.new("gsym_symbfile_extraction **")
        status = lib.gsym_symbfile_extraction_create(
            reader._image,  # noqa: SLF001 - a sibling's handle
            place,
            self._error,
        )
        check(status, self._error, reader.path)
        self._handle = ffi.gc(place[0], lib.gsym_symbfile_extraction_destroy)

    def want_ranges(self) -> Encoder:
        """What the ranges of all functions will be written to."""
        encoder, names = self._output()
        lib.gsym_symbfile_extraction_want_ranges(
            self._handle, names.handle, encoder.handle
        )
        return encoder

    def want_return_pads(self, calls: Calls) -> Encoder:
        """What the return pads of calls will be written to.

        Args:
            calls: They live until the last step.
        """
        encoder, names = self._output()
        lib.gsym_symbfile_extraction_want_return_pads(
            self._handle, names.handle, encoder.handle, calls.handle
        )
        return encoder

    def steps(self) -> Iterator[None]:
        """Goes on by some functions at a time; each wanted output has more then.

        Raises:
            ClosedError: The reader was closed.
            FormatError: The records of the file lie over each other.
        """
        is_done, visited, total = ffi.new("uint32_t *"), 0, len(self._reader)
        while not is_done[0]:
            self._reader._open_image()  # noqa: SLF001 - fails where it was closed
            status = lib.gsym_symbfile_extraction_next(
                self._handle, _ENTRIES_AT_ONCE, is_done, self._error
            )
            check(status, self._error, self._reader.path)
            if is_done[0]:
                for encoder, _ in self._wanted:
                    encoder.finish()
            visited = min(visited + _ENTRIES_AT_ONCE, total)
            if self._progress is not None:
                self._progress(visited, total)
            yield

    def counts(self, names: tuple[str, ...]) -> dict[str, int]:
        """Fields of the engine's `gsym_symbfile_extraction_counts`."""
        counts: Any = ffi.new("gsym_symbfile_extraction_counts *")
        lib.gsym_symbfile_extraction_count(self._handle, counts)
        return {name: attrgetter(name)(counts) for name in names}

    def _output(self) -> tuple[Encoder, ImageNames]:
        encoder = Encoder(self._part_size)
        names = ImageNames(self._reader, encoder, self._texts, self._progress)
        self._wanted.append((encoder, names))
        return encoder, names
