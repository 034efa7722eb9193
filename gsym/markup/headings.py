"""Headings of reports, which say whether the addresses of their stacks are exact.

Those of sanitizers are, in markup without a kind: the instruction at fault, and return
addresses less one instruction. The races of ThreadSanitizer have return addresses.

Source: compiler-rt, sanitizer_stacktrace_libcdep.cpp, tsan_report.cpp.
"""

from __future__ import annotations

from gsym.engine.native import ffi, lib
from gsym.lazy import regex

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Iterator

# A panic of Go is a "runtime error", too.
_HEADING = regex(
    rb"(?:ERROR|(WARNING)): (?:(Thread)|\w*)Sanitizer: |ERROR: libFuzzer: "
    rb"|(?<!panic): runtime error: "
)
_SUMMARY = b"SUMMARY: "  # the last line with addresses


class Headings:
    """Follows the reports of a log."""

    def __init__(self) -> None:
        # whether its addresses without a kind are exact, by the heading
        self.are_exact: bool = False

    def parts(self, lines: bytes, at: int, end: int) -> Iterator[tuple[int, int]]:
        """Start and end of parts of some lines, each with one value of `are_exact`."""
        block = ffi.from_buffer(lines)
        hit = at
        while (hit := hit + lib.gsym_text_find_heading(block + hit, end - hit)) < end:
            start = lines.rfind(b"\n", at, hit) + 1 or at
            hit = lines.find(b"\n", hit, end) + 1 or end
            if lines.find(_SUMMARY, start, hit) >= 0:
                yield at, hit
                at, self.are_exact = hit, False
            elif found := _HEADING.search(lines, start, hit):
                if at < start:
                    yield at, start
                at, self.are_exact = start, not (found[1] and found[2])
        if at < end:
            yield at, end
