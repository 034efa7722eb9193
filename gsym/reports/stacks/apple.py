"""Apple crash reports and samples, as text."""

from __future__ import annotations

from gsym.patterns import regex
from gsym.reports.stacks.line_forms import (
    HEX,
    FrameForm,
    ImageForm,
)

# `0x100000000 - 0x10000ffff +org.demo.Example (1.0 - 1) <UUID> /Applications/Example`
_RANGE = rf"^[ \t]*\*?0x(?P<start>{HEX})[ \t]+-[ \t]+(?:0x(?P<last>{HEX})|\?\?\?)[ \t]+"
_UUID = r"<(?P<uuid>[0-9a-fA-F-]{32,36})>"
_IMAGE = regex(rf"{_RANGE}.*{_UUID}[ \t]*(?P<module>\S(?:.*\S)?)\s*$")
_IMAGE_NAME = regex(rf"{_RANGE}\+?(?P<module>\S+)(?!\S).*{_UUID}\s*$")
_IMAGE_PATH = regex(rf"{_RANGE}\+?(?P<module>\S(?:.*\S)?)\s*$")
# `3   My App    0x0000000100001234 0x100000000 + 4660`, also `main + 25 (main.c:12)`
_FRAME = regex(
    r"^[ \t]*(?P<number>\d{1,6})[ \t]+(?=\S).{1,200}?[ \t]+"
    rf"(?P<shown>0x(?P<address>{HEX})[ \t]+(?P<symbol>\S.*?) \+ "
    r"(?P<plus>\d+)\b(?:.*\S)?)\s*$"
)
_LOADED = regex(
    r"^[ \t]*\d{1,6}[ \t]+(?P<module>(?!\?\?\?)\S.{0,200}?)[ \t]+"
    rf"0x{HEX}[ \t]+0x(?P<start>{HEX}) \+ \d+\s*$"
)
_EXCEPTION = regex(rf"(?<=[( ])(?P<shown>0x(?P<address>{HEX}))(?=[ )])")
_EXCEPTION_LINE = regex(rf"^\((?:0x{HEX}\s*)+\)\s*$")
# sample: `    + 2593 ???  (in app)  load address 0x100000000 + 0x3f59  [0x100003f59]`;
# spindump: `  1001  ??? (app + 16217) [0x100003f59]`
_SAMPLE = regex(
    r"^[ +!:|*]*\d+ +(?P<shown>(?P<symbol>\S.*?)(?<! ) +\((?:in )?"
    r"(?P<module>[^()]+?)(?: \+ \d+)?\).{0,100}?"
    rf"\[0x(?P<address>{HEX})\])"
)

FRAMES = (
    FrameForm("Apple crash report", "0x", _FRAME, has_heading=True),
    FrameForm(
        "Apple crash report",
        "(0x",
        _EXCEPTION,
        returns="all",
        repeats=True,
        whole=_EXCEPTION_LINE,
    ),
    FrameForm("Apple sample", " [0x", _SAMPLE, returns="none"),
)
IMAGES = (
    ImageForm("0x", _IMAGE),
    ImageForm("0x", _IMAGE_NAME),
    ImageForm("0x", _IMAGE_PATH),
    ImageForm("0x", _LOADED, has_frame=True),
)
