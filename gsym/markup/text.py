"""Lines of a log with code addresses in symbolizer markup, answered many at a time.

The engine reads the lines, finds and formats; here blocks of finished text come out.
"""

from __future__ import annotations

from gsym.engine.name_texts import NameTexts
from gsym.engine.native import ffi, lib
from gsym.engine.text_buffer import TextBuffer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from typing_extensions import Buffer

    from gsym.reading.reader import Reader

MOST_MODULES = 64
_VERSION_MASK = (1 << 32) - 1


class MarkupText:
    """Answers for the modules of one process; for one thread at a time.

    Args:
        flags: A set of GSYM_MARKUP_*.
        demangle: Print function names as people write them.
        line_limit: Bytes of a line with an element.
        escape: Makes names printable; None: names and paths are printed unchanged.
    """

    def __init__(
        self,
        *,
        flags: int,
        demangle: bool,
        line_limit: int,
        escape: Callable[[bytes], bytes] | None = None,
    ) -> None:
        self._text = TextBuffer(escape=escape is not None)
        self._names = NameTexts(ffi.NULL, escape=escape) if demangle else None
        self._job = ffi.new("gsym_markup_job *")
        self._job.flags = flags
        self._job.line_limit = line_limit

    @property
    def name_bytes(self) -> int:
        """How many bytes the names take that are kept to be printed again."""
        return 0 if self._names is None else self._names.size

    def place(
        self,
        modules: Sequence[tuple[bytes, Reader | None]],
        segments: Sequence[tuple[int, int, int, int]],
    ) -> None:
        """Say what is where.

        Args:
            modules: What each is called, and where to look; None: nothing is known of
                it. At most MOST_MODULES; those of an earlier call have to stay.
            segments: Start, size, link-time address and index of the module of each,
                sorted by start, without overlap.
        """
        names = [ffi.from_buffer(name) for name, _ in modules]
        readers = [reader for _, reader in modules]
        images = [
            ffi.NULL if reader is None else reader.mapped.image for reader in readers
        ]
        count = len(modules)
        maps = [reader is not None and reader.mapped.is_file for reader in readers]
        records = zip(images, names, map(len, names), [0] * count, maps, strict=True)
        module_records = ffi.new("gsym_markup_module[]", list(records))
        segment_records = ffi.new("gsym_markup_segment[]", list(segments))
        job = self._job
        job.modules, job.module_count = module_records, count
        job.segments, job.segment_count = segment_records, len(segments)
        job.version = job.version + 1 & _VERSION_MASK
        self._modules = module_records
        # What the job points to besides, and what the images go with.
        self._kept = segment_records, names, readers
        if self._names is not None:
            self._names.images = images

    def answer(
        self, lines: Buffer, put: Callable[[Buffer], object], prefix_size: int = 0
    ) -> int:
        """Answer lines without markup, and those with addresses in the modules.

        Args:
            lines: As they came.
            put: Takes the text, piece by piece; each is gone when it returns.
            prefix_size: Bytes of each line that are repeated before each of its frames.

        Returns:
            How many bytes of *lines* were answered.
        """
        names = ffi.NULL if self._names is None else self._names.handle
        for module in self._modules:
            module.unknown = 0
        self._job.prefix_size = prefix_size
        arguments = names, self._job
        return self._text.answer(
            lib.gsym_text_markup, arguments, lines, self._names, put
        )

    def unknown(self) -> list[int]:
        """For how many of the last addresses nothing is known, by module."""
        return [int(module.unknown) for module in self._modules]
