"""Answers of one file in an output style; the engine parses, looks up and formats.

A style is a template, in the language described in csrc/text/style.c, and an escape
mode. The other modules of this folder have the styles of each command.
"""

from __future__ import annotations

from gsym.engine.native import check, ffi, lib, new_error
from gsym.engine.text_buffer import TextBuffer
from gsym.model import UINT64_MAX
from gsym.records import NamedTuple

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from typing_extensions import Buffer

    from gsym.engine.mapped_image import MappedImage
    from gsym.engine.name_texts import NameTexts
    from gsym.reading.reader import Reader

    CData = Any  # a cffi object


LLVM_NUMBERS: int = lib.GSYM_NUMBERS_LLVM
PLAIN_NUMBERS: int = lib.GSYM_NUMBERS_PLAIN
HEX_NUMBERS: int = lib.GSYM_NUMBERS_HEX


def command_template(style: int, flags: int = 0) -> str:
    """The template of a `gsym_command_style`, for `gsym_style_flags`."""
    room = ffi.new("char[]", lib.GSYM_STYLE_MAX_SIZE)
    size = lib.gsym_style_text(style, flags, room, len(room))
    template: str = ffi.unpack(room, size).decode()
    return template


class Style(NamedTuple):
    """The format of answers and of input lines."""

    template: str  # the text of an answer
    # the format of addresses in lines: LLVM_NUMBERS, PLAIN_NUMBERS, HEX_NUMBERS
    numbers: int = LLVM_NUMBERS
    json: bool = False  # whether strings are in JSON
    demangle: bool = False  # whether names of functions are demangled
    merged: bool = False  # whether answers include merged functions
    llvm_rules: bool = False  # whether addresses are looked up by LLVM's rules
    escape: Callable[[bytes], bytes] | None = None  # escapes strings; None: unchanged
    separator: bytes = b""  # see `NameTexts`

    @property
    def flags(self) -> int:
        """The flags of the engine."""
        is_printable = self.escape is not None and not self.json
        return int(
            self.llvm_rules * lib.GSYM_FORMAT_LLVM
            | self.merged * lib.GSYM_FORMAT_MERGED
            | self.demangle * lib.GSYM_FORMAT_DEMANGLED
            | is_printable * lib.GSYM_FORMAT_PRINTABLE
            | self.json * lib.GSYM_FORMAT_JSON
        )


class Formatter:
    """Answers addresses from a reader; for one thread at a time.

    Without a reader no address has an answer. *shift* is added to an address before the
    lookup, modulo 2^64 if it *wraps*. Of *sections*, for section-relative addresses,
    the first with an answer is used.
    """

    def __init__(  # noqa: PLR0913 - each is what one of the commands needs
        self,
        reader: Reader | None,
        style: Style,
        *,
        buffer: TextBuffer | None = None,
        shift: int = 0,
        wraps: bool = True,
        is_64: bool = True,
        sections: list[tuple[int, int]] | None = None,
        suffix: bytes = b"",
    ) -> None:
        self._reader = reader  # which the image goes with
        self._text = TextBuffer() if buffer is None else buffer
        self._names: NameTexts | None = None
        self._suffix = suffix
        raw, error = style.template.encode(), new_error()
        place = ffi.new("gsym_style **")
        check(lib.gsym_style_create(raw, len(raw), place, error), error)
        # Keeps alive what the engine reads: first the compiled template.
        self._kept = (
            ffi.gc(place[0], lib.gsym_style_destroy),
            ffi.from_buffer(suffix),
            ffi.new("gsym_range[]", sections or []),
        )
        self._job = job = ffi.new("gsym_format_job *")
        self._style = style
        self._mapped: MappedImage | None = None
        if reader is not None and not reader.is_partial:
            self._use(reader.mapped)
        job.style, job.suffix, job.sections = self._kept
        job.line_size = UINT64_MAX
        job.suffix_size, job.section_count = len(suffix), len(self._kept[2])
        job.flags, job.numbers = style.flags, style.numbers
        job.shift = shift & UINT64_MAX
        job.address_mask = UINT64_MAX if is_64 else (1 << 32) - 1
        first, last = max(0, -shift), min(UINT64_MAX, UINT64_MAX - shift)
        if wraps:
            first, last = 0, UINT64_MAX
        job.first, job.last = (first, last) if first <= last else (1, 0)

    def _use(self, mapped: MappedImage) -> None:
        """Answer from this image."""
        if mapped is self._mapped:
            return
        self._mapped, self._names = mapped, None
        self._job.image = mapped.image
        style = self._style
        if style.demangle or style.escape is not None:
            from gsym.engine.name_texts import NameTexts

            self._names = NameTexts(
                mapped.image,
                demangle=style.demangle,
                escape=style.escape,
                separator=style.separator,
            )

    def _addresses(self, lines: Buffer) -> list[int]:
        start = ffi.from_buffer("char[]", lines)
        given = self._job, start, len(start)
        count = lib.gsym_text_addresses(*given, ffi.NULL, 0)
        addresses = ffi.new("uint64_t[]", count)
        lib.gsym_text_addresses(*given, addresses, count)
        return list(addresses)

    @property
    def missed(self) -> int:
        """Number of addresses without an answer."""
        return int(self._job.missed)

    @property
    def damaged(self) -> int:
        """Number of addresses with damaged records."""
        return int(self._job.damaged)

    @property
    def name_bytes(self) -> int:
        """Bytes of the cache of names."""
        return 0 if self._names is None else self._names.size

    def expect(self, lines: bytes) -> None:
        """Prepare for these lines, which will come one by one."""
        if self._reader is not None and self._reader.is_partial:
            self._reader.mapped_for(self._addresses(lines))

    def answer(
        self,
        lines: Buffer,
        put: Callable[[Buffer], object],
        *,
        prefix: bytes = b"",
        line_size: int = UINT64_MAX,
    ) -> int:
        """Answer lines with an address each; return how many of their bytes were.

        Stops before any other line and before one without an end.
        """
        job, prefix_bytes = self._job, ffi.from_buffer(prefix)
        job.prefix, job.prefix_size = prefix_bytes, len(prefix)
        job.line_size = line_size
        if self._reader is not None and self._reader.is_partial:
            self._use(self._reader.mapped_for(self._addresses(lines)))
        elif self._reader is not None:
            self._use(self._reader.mapped)
        return self._text.answer(self._go_on, (), lines, self._names, put)

    def _go_on(self, text: CData, *lines_and_rest: Any) -> int:
        if self._names is not None:
            self._job.texts = self._names.handle  # a full table is replaced
        status: int = lib.gsym_text_answer(text, self._job, *lines_and_rest)
        return status

    def one(self, address: int, keep: list[bool] | None = None) -> bytes:
        """The answer to one address.

        *keep* are the functions to show, the function itself first, then merged ones.
        """
        shown = ffi.NULL if keep is None else ffi.new("uint8_t[]", keep)
        self._job.keep, self._job.keep_count = shown, len(keep or ())
        pieces: list[bytes] = []
        line = b"%#x%b\n" % (address, self._suffix)
        self.answer(line, lambda piece: pieces.append(bytes(piece)))
        self._job.keep = ffi.NULL
        return b"".join(pieces)
