"""Texts of Breakpad's and Mozilla's minidump-stackwalk, and of Mozilla's own walker."""

from __future__ import annotations

from gsym.patterns import regex
from gsym.reports.stacks.line_forms import (
    HEX,
    NUMBER,
    OFFSET,
    FrameForm,
    HeadingForm,
    ImageForm,
    ReportForms,
)

# ` 1  libc.so.6 + 0x29d90`, ` 0  app!main [main.c : 12 + 0x5]`
_FRAME = regex(rf"^ ?{NUMBER}  (?P<shown>(?P<module>\S.*?) \+ {OFFSET})\s*$")
_ANSWERED = regex(
    rf"^ ?{NUMBER}  "
    r"(?P<shown>[^\s!]+!(?P<symbol>.+? \[[^\[\]]+ : \d+ \+ 0x[0-9a-f]+\]))\s*$"
)
_PLUS = regex(
    rf"^ ?{NUMBER}  "
    rf"(?P<shown>(?P<module>[^\s!]+)!(?P<symbol>\S.*?) \+ (?P<plus>0x{HEX}))\s*$"
)
_IMAGE = regex(
    rf"^0x(?P<start>{HEX}) - 0x(?P<last>{HEX})  (?P<module>\S.*?)  \S+(?:  .*)?$"
)
_NO_SYMBOLS = regex(
    r"\(WARNING: (?:No|Corrupt) symbols, (?P<module>\S+), "
    r"(?P<debug_id>[0-9A-Fa-f]{32,40})\)"
)
# For machines: `Module|app||app|DEBUGID|0x55..|0x55..|1`, `0|1|libc.so.6||||0x29d90`
_PIPES_MODULE = regex(
    rf"^Module\|(?P<code>[^|]*)\|[^|]*\|(?P<module>[^|]*)\|(?P<debug_id>[0-9A-Fa-f]*)"
    rf"\|0x(?P<start>{HEX})\|0x(?P<last>{HEX})\|"
)
_PIPES_FRAME = regex(
    rf"^(?P<thread>\d{{1,6}})\|{NUMBER}\|(?P<shown>(?P<module>[^|]+)"
    rf"\|(?P<symbol>[^|]*)\|[^|]*\|\d*\|0x(?P<offset>{HEX}))"
)
# Socorro: `1  xul.dll  mod@0x128a`, Mozilla: `#01: ???[/lib/libxul.so +0x1a2b3c]`
_SOCORRO = regex(rf"^\s*{NUMBER}\s+(?:\S+\s+)*?(?P<shown>(?P<module>[^\s@]+)@{OFFSET})")
_MOZILLA = regex(
    rf"^[^#]*#{NUMBER}: (?:.*?[\s\[])?(?P<shown>(?P<module>[^\s\[]+) \+ ?{OFFSET})"
)

_IS_UNANSWERED = "", "??"

FORMS = ReportForms(
    frames=(
        FrameForm("minidump-stackwalk", " + 0x", _ANSWERED, returns="none"),
        FrameForm("minidump-stackwalk", " + 0x", _PLUS),
        FrameForm("minidump-stackwalk", " + 0x", _FRAME, base="image"),
        FrameForm(
            "minidump-stackwalk -m",
            "|",
            _PIPES_FRAME,
            base="image",
            accepts=lambda found: found["symbol"] in _IS_UNANSWERED,
        ),
        FrameForm("Socorro", "@0x", _SOCORRO, returns="none", base="image"),
        FrameForm("Mozilla stack walk", "0x", _MOZILLA, base="image"),
    ),
    images=(
        ImageForm("0x", _IMAGE),
        ImageForm("(WARNING: ", _NO_SYMBOLS),
        ImageForm("Module|", _PIPES_MODULE),
    ),
    headings=(
        HeadingForm(
            "Thread ",
            regex(
                r"^(?P<name>Thread \d+(?: (?![Cc]rashed\b)[^:()\s][^:()]{0,128}?)?)"
                r"(?: \((?P<crashed>crashed)\))?(?: - tid: \d+)?\s*$"
            ),
        ),
        HeadingForm("Crash", regex(r"^(?P<reason>Crash reason:  .*)")),
    ),
)
