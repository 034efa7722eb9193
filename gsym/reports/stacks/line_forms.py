"""Forms of lines in reports: tables of patterns, and what their named groups mean.

A report is read line by line. Images come first, as many reports list them after the
stacks; then each line is matched with the forms of frames, in order, and the first that
fits describes it. `hint` is text that a line must contain, which is cheaper to test.

Groups of all patterns, each optional:

    shown       the text that the answer replaces; by default all that matched
    module      path or name of the module
    build_id    its build id, in hexadecimal
    debug_id    its debug id
    uuid        its UUID, or build id as LLDB prints it
    address     an address in the process, in hexadecimal
    offset      from the start of the module, or link-time: `FrameForm.base`
    symbol      function, as in the report
    plus        bytes from its start: hexadecimal with 0x, else decimal
    function_size  its size, in hexadecimal
    number      of the frame in its stack
    start, end  addresses of an image in the process; the end may be missing
    last        its last address, instead of the end
    size        of an image, in hexadecimal
    at          offset in the file of what is at `start`, in hexadecimal
    name        of a thread
    crashed     not empty: the thread that crashed
    reason      why the program ended
"""

from __future__ import annotations

from gsym.records import NamedTuple

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    import re
    from typing import Literal

    from gsym.memory.stack_parts import Base

HEX = r"[0-9a-fA-F]{1,16}(?![0-9a-zA-Z_])"
"""Digits of a number of 64 bits."""

ADDRESS = rf"0x(?P<address>{HEX})"
OFFSET = rf"0x(?P<offset>{HEX})"
NUMBER = r"(?P<number>\d{1,6})"


class FrameForm(NamedTuple):
    """A line with a frame, or with several.

    Attributes:
        form: What such a report is called.
        hint: Text that each such line contains.
        pattern: Finds the frame in the line.
        returns: Which addresses are return addresses, so that the call is before them:
            those of "callers" (all but the first of a stack), those "before others" in
            their line, "all", or "none".
        base: What `offset` counts from.
        whole: What a line is that is a stack, with several frames; else None.
        module: The module of frames whose lines do not name one.
        radix: Of `number`.
        has_heading: Whether a heading is before each stack: without one, the stack is
            another tool's, and its first frame may be a return address.
    """

    form: str
    hint: str
    pattern: re.Pattern[str]
    returns: Literal["callers", "before others", "all", "none"] = "callers"
    base: Base = "either"
    whole: re.Pattern[str] | None = None
    module: str = ""
    radix: int = 10
    has_heading: bool = False


class ImageForm(NamedTuple):
    """A line with an image in the process, or with the id of a module.

    Attributes:
        hint: As of `FrameForm`.
        pattern: Finds the image.
        base: What starts at `start`: the image, or its text or executable segment.
        usual: Where an image is whose lines do not say it: those with an address in
            this range.
        has_frame: Whether the line may also have a frame.
        module: The module, if the line does not name it.
    """

    hint: str
    pattern: re.Pattern[str]
    base: Base = "image"
    usual: range | None = None
    has_frame: bool = False
    module: str = ""


class HeadingForm(NamedTuple):
    """A line that begins a stack, or has the reason of the crash.

    Attributes:
        hint: As of `FrameForm`.
        pattern: Finds `name`, `crashed` or `reason`.
    """

    hint: str
    pattern: re.Pattern[str]
