"""Addresses with their modules, as typed and as many programs print them.

`libfoo.so+0x1234`, `[/lib/libxul.so +0x1a2b3c]`, `#3 0x1234 libfoo.so`. These forms
come last, as they fit lines of other forms.
"""

from __future__ import annotations

import re

from gsym.memory.maps import MAPPING
from gsym.reports.stacks.line_forms import (
    HEX,
    NUMBER,
    OFFSET,
    FrameForm,
    ImageForm,
    ReportForms,
)

_PLUS_OFFSET = re.compile(
    r"(?<![^\s()\[\]<>\"'])(?P<shown>(?P<module>[^\s()\[\]<>\"']{1,1024}?)"
    rf" ?\+ ?{OFFSET}(?!/))"
    r"(?:\)? {1,2}\(BuildId: (?P<build_id>[0-9a-fA-F]{2,128})\))?"
)
_ADDRESS_FIRST = re.compile(
    rf"^[ \t]*(?:#?{NUMBER}[:.]?[ \t]+)?(?P<shown>{OFFSET}[ \t]+"
    r"(?:in[ \t]+)?[(\[]*(?P<module>[^\s()\[\]]+)[)\]]*)\s*$"
)
# Of heaptrack, which adjusts return addresses and has the module in the next line
_ALONE = re.compile(rf"^\s*(?P<shown>0x(?P<address>{HEX}))\s*$")
_BARE_LINE = re.compile(rf"[ \t,]*(?:(?:0x)?{HEX}[ \t,]*)+\r?\n?$")
_BARE = re.compile(rf"\b(?P<shown>(?:0x)?(?P<address>{HEX}))")
_PREFIXED = re.compile(rf"\b(?P<shown>0x(?P<address>{HEX}))")
_FUNCTION_LINE = re.compile(r":\d{1,9}$")


def _has_module(found: re.Match[str]) -> bool:
    """Whether a file name is before the offset; it may be a function: `main+0x12`."""
    path = found["module"].replace("\\", "/")
    if _FUNCTION_LINE.search(path) or "SUMMARY: " in found.string:
        return False
    last = path.rpartition("!")[2]
    is_alone = found.string.strip() == found["shown"] and last == path
    return is_alone or "/" in last or "." in last.strip(".")


def _is_file(found: re.Match[str]) -> bool:
    path = found["module"]
    return not _FUNCTION_LINE.search(path) and ("/" in path or "." in path.strip("."))


FORMS = ReportForms(
    frames=(
        FrameForm(
            "addresses", "0x", _PLUS_OFFSET, "none", repeats=True, accepts=_has_module
        ),
        FrameForm("addresses", "0x", _ADDRESS_FIRST, "none", accepts=_is_file),
        FrameForm("addresses", "0x", _ALONE, "none"),
    ),
    images=(ImageForm("-", MAPPING),),
)
TYPED = ReportForms(
    images=FORMS.images,
    frames=(
        FrameForm("addresses", "", _BARE, "none", repeats=True, whole=_BARE_LINE),
        FrameForm("addresses", "0x", _PREFIXED, "none", repeats=True),
    ),
)
"""Addresses without a module, which are looked up in one that the user named."""
