"""Tombstones and logs of Android, whose unwinder adjusts return addresses."""

from __future__ import annotations

from gsym.patterns import regex
from gsym.reports.stacks.line_forms import (
    HEX,
    NUMBER,
    FrameForm,
    HeadingForm,
    ReportForms,
)

# `#00 pc 0000000000012345  /lib/libfoo.so (foo+1) (BuildId: ab)`
_FRAME = regex(
    rf"#{NUMBER} +pc +(?P<shown>(?:0x)?(?P<offset>{HEX})[ \t]+(?P<module>\S+)"
    r"(?:.*\(BuildId: (?P<build_id>[0-9a-fA-F]{2,128})\))?(?:.*\S)?)\s*$"
)

FORMS = ReportForms(
    frames=(
        FrameForm("Android backtrace", " pc ", _FRAME, returns="none", base="link"),
    ),
    headings=(
        HeadingForm(
            ">>> ",
            regex(
                r"pid: \d+, tid: \d+, name: (?P<name>.{0,64}?)\s+"
                r">>> (?P<crashed>.{0,512}) <<<"
            ),
        ),
        HeadingForm("signal ", regex(r"(?P<reason>signal \d+ \(SIG\w+\).*)")),
        HeadingForm("Abort message: ", regex(r"(?P<reason>Abort message: .*)")),
    ),
)
