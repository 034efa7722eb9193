"""The parts of a form that lies in a file (multipart/form-data)."""

from __future__ import annotations

from email.parser import BytesHeaderParser

from gsym.errors import FormatError
from gsym.records import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from mmap import mmap


class FormPart(NamedTuple):
    """A field of a form.

    Attributes:
        name: Of the field.
        file: Name of the file that it holds; None where it is text.
        start: Where its contents begin in the form.
        end: Where they end.
    """

    name: str
    file: str | None
    start: int
    end: int


_MOST_PARTS = 100
_LARGEST_HEAD = 16 << 10
_LONGEST_BOUNDARY = 70  # characters, by its definition


def boundary_of(content_type: str) -> bytes | None:
    """What stands between the parts; None where the type is not that of a form.

    Raises:
        FormatError: It is, and names no boundary.
    """
    header = f"Content-Type: {content_type}\r\n\r\n".encode("latin-1", "replace")
    message = BytesHeaderParser().parsebytes(header)
    if message.get_content_type() != "multipart/form-data":
        return None
    boundary = message.get_boundary("")
    if not boundary or len(boundary) > _LONGEST_BOUNDARY:
        raise FormatError("the form names no boundary")
    return boundary.encode("latin-1", "replace")


def form_parts(data: mmap | bytes, boundary: bytes) -> Iterator[FormPart]:
    """The parts of a form, in order.

    Raises:
        FormatError: It is damaged, or has too many parts.
    """
    mark = b"--" + boundary
    at = data.find(mark, 0, _LARGEST_HEAD)
    if at < 0:
        raise FormatError("the form does not begin with its boundary")
    for _ in range(_MOST_PARTS + 1):
        at += len(mark)
        if data[at : at + 2] == b"--":
            return
        head_end = data.find(b"\r\n\r\n", at, at + _LARGEST_HEAD)
        if head_end < 0:
            raise FormatError("a part of the form has no head", offset=at)
        start = head_end + 4
        end = data.find(b"\r\n" + mark, start)
        if end < 0:
            raise FormatError("a part of the form has no end", offset=start)
        head = BytesHeaderParser().parsebytes(data[at + 2 : head_end + 2])
        name = head.get_param("name", "", "content-disposition")
        yield FormPart(str(name), head.get_filename(), start, end)
        at = end + 2
    raise FormatError(f"the form has more than {_MOST_PARTS} parts")
