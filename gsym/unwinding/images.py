"""ELF images in memory: their headers, and where the loader put their segments."""

from __future__ import annotations

from gsym.containers.headers import PT_NOTE, load_segments, program_headers, read_notes
from gsym.errors import FormatError, GsymError
from gsym.model import UINT64_MAX
from gsym.records import NamedTuple

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from gsym.containers.headers import ProgramHeader, Segment

    Memory = Callable[[int, int], bytes]
    """Reads so many bytes at an address; fewer, or none, where memory is not known."""


class Image(NamedTuple):
    """An ELF file as seen in memory or on disk."""

    segments: tuple[Segment, ...] = ()  # its loaded parts
    build_id: str = ""  # in hexadecimal digits, or ""
    frame_header: int = 0  # link-time address of `.eh_frame_hdr`; 0 if it has none


ELF_MAGIC = b"\x7fELF"
_HEADERS = 4096  # bytes with the headers, which are in the first page
# Limit: Notes of an image in memory
_MOST_NOTES = 1 << 20  # bytes
_ORDER_AT, _ORDERS = 5, {1: "<", 2: ">"}
_NT_GNU_BUILD_ID = 3
_PT_GNU_EH_FRAME = 0x6474E550
_PAGES = (1 << 12, 1 << 16)  # what a loader rounds the ends of segments to


def image_in_memory(memory: Memory, start: int) -> Image:
    """The image that starts at an address; it has no segments if none does."""
    head = memory(start, _HEADERS)
    if not head.startswith(ELF_MAGIC):
        return Image()
    data = memoryview(head)
    try:
        segments = load_segments(data, None)
        headers = program_headers(data, None)
    except FormatError:
        return Image()
    if not segments:
        return Image()
    bias = load_bias(start, segments)
    build_id = _build_id(memory, bias, headers, head[_ORDER_AT])
    return Image(segments, build_id, _frame_header(headers))


def load_bias(start: int, segments: Sequence[Segment]) -> int:
    """The load bias of an image whose first byte is at *start*."""
    first = min(segments, key=lambda each: each.offset)
    return start - first.address + first.offset


def image_in_file(path: str) -> Image:
    """The image that a file holds; it has no segments if the file is none."""
    from gsym.containers.fat import open_slice

    try:
        with open_slice(path) as file:
            headers = program_headers(file.data, path)
            segments = load_segments(file.data, path)
            return Image(segments, file.uuid.hex(), _frame_header(headers))
    except (GsymError, OSError, ValueError):
        return Image()


def mapped_segment(
    offset: int, segments: Sequence[Segment], *, is_executable: bool
) -> Segment | None:
    """The segment of which a mapping has the part from an offset in the file on.

    A mapping starts at the page in which its segment starts, and the segment before it
    may end in the same page.
    """
    for page in _PAGES:
        fitting = [
            each
            for each in segments
            if each.offset & -page <= offset < each.offset + each.size
        ]
        for each in sorted(fitting, key=lambda it: it.is_executable != is_executable):
            return each
    return None


def read_image(image: Image, data: memoryview, address: int, size: int) -> bytes:
    """Bytes at a link-time address of an image that *data* holds."""
    for each in image.segments:
        inside = address - each.address
        if 0 <= inside < each.size:
            held = min(size, each.size - inside)
            return bytes(data[each.offset + inside :][:held])
    return b""


def _frame_header(headers: Sequence[ProgramHeader]) -> int:
    found = (each.address for each in headers if each.kind == _PT_GNU_EH_FRAME)
    return next(found, 0)


def build_id_in(notes: memoryview, byteorder: str = "<") -> str:
    """The build id among notes, in hexadecimal digits, or ""."""
    for note in read_notes(notes, byteorder):
        if note.name == b"GNU" and note.kind == _NT_GNU_BUILD_ID:
            return note.contents.hex()
    return ""


def _build_id(
    memory: Memory, bias: int, headers: Sequence[ProgramHeader], order: int
) -> str:
    left = _MOST_NOTES
    for each in (each for each in headers if each.kind == PT_NOTE):
        size = min(each.file_size, left)
        left -= size
        notes = memory((bias + each.address) & UINT64_MAX, size)
        if found := build_id_in(memoryview(notes), _ORDERS[order]):
            return found
    return ""
