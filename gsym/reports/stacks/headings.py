"""Headings of stacks: the threads, the reason why a program ended, who crashed.

Of the headings that a line may be, the first one counts. For the groups of patterns,
see `gsym.reports.stacks.line_forms`.
"""

from __future__ import annotations

from gsym.lazy import regex
from gsym.memory.stack_parts import FAULT
from gsym.reports.stacks.line_forms import HeadingForm

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Iterator

# Texts that the reason of a crash begins with: in a line, and at its start.
_REASONS = (
    *("Fatal Python error: ", "panic: ", "fatal error: ", "terminate called "),
    *("runtime error: ", "Abort message: ", "traps: ", "BUG: ", "Oops: "),
    *("Kernel panic ", "Program terminated with signal ", "Process terminating "),
)
_FIRST_REASONS = ("Invalid memory access ", "FATAL ERROR: ", "Crash reason:  ")
# Parts of lines that are reasons, beside a text in them.
_SPECIAL_REASONS = (
    ("panicked at ", r"thread '[^']{0,256}' .{0,64}panicked at .*"),
    ("Runtime error", r"^Runtime error \d+ at .*"),
    (" at pc=0x", r"(?<=\s)(?:SIG|EXC)\w+ \(0x\w+\) at pc=.*"),
    ("Assertion", r"^.{0,256}: Assertion .{1,512} failed"),
    ("WARNING: ", r"WARNING: \w+Sanitizer: .*"),
    ("signal ", r"signal \d+ \(SIG\w+\).*"),
    ("segfault at ", r"segfault at .{0,256}? error \w+"),
    ("received signal ", r"^(?:Program|Thread .{1,128}?) received signal .*"),
    (" at 0x", r"^(?:Unhandled exception|Exception thrown) at 0x.* in .*"),
    ("Exception Type: ", r"(?<=^Exception Type:)\s.*"),
)
_OF_SANITIZERS = (
    r"^\s*(?P<name>(?:previously )?(?:freed|allocated) by thread .*|Thread T\d+ .*"
    r"|(?:Previous |Atomic )?(?:[Ww]rite|[Rr]ead|READ|WRITE) of size .*"
    r"|(?:Direct|Indirect) leak of .*|Mutex M\d+ .*|Uninitialized value was .*):?\s*$"
)
# Of stackwalk, of gdb and of Apple
_THREAD = (
    r"^(?P<name>Thread \d+(?: (?![Cc]rashed\b)[^:()\s][^:()]{0,128}?)?)"
    r"(?: \((?P<crashed>crashed)\))?(?: - tid: \d+)?\s*$"
)
_THREAD_GDB = r"^(?P<name>Thread \d+ \((?:Thread|LWP|process).{0,200}\)).{0,64}:\s*$"
_THREAD_APPLE = (
    r"^(?P<name>Thread \d+(?::: .{0,200}?| name:.{0,200}?)?)"
    r"(?P<crashed> Crashed)?(?::{1,2}(?: .*)?)?\s*$"
)
_THREAD_LLDB = (
    r"^(?P<crashed>\*)? *(?P<name>thread #\d+.*?)(?:, stop reason = (?P<reason>.*))?$"
)
_THREAD_ANDROID = (
    r"pid: \d+, tid: \d+, name: (?P<name>.{0,64}?)\s+>>> (?P<crashed>.{0,512}) <<<"
)
_COMPUTE_SANITIZER = (
    r"^========= (?P<reason>(?P<name>(?:(?P<crashed>Invalid|Uninitialized)"
    r" __\w+__ \w+ of size \d|Barrier error|Race reported).*?))\s*$"
)
_NAMES = (
    ("goroutine ", r"^(?P<name>goroutine \d+ [^\[\]]{0,64}\[[^\[\]]{0,256}\]):"),
    ("Current thread", r"^(?P<name>Current thread\b.*):"),
    *((hint, _OF_SANITIZERS) for hint in ("of size ", "thread T", "leak of ")),
    (" value was ", _OF_SANITIZERS),
    ("stack trace>", r"(?P<name><(?:user )?stack trace>)"),
    ("Call Trace:", r"(?P<name>Call Trace):"),
    ("Call trace:", r"(?P<name>Call trace):"),
    ("Stack trace of thread ", r"(?P<name>Stack trace of thread \d+)"),
    ("Backtrace:", r"^(?P<name>Last Exception Backtrace):"),
    ("Invalid ", r"==\d+== (?P<name>Invalid \w+ of size \d+)"),
    (" Address 0x", r"==\d+==  (?P<name>Address 0x\w+ is .*)"),
    ("Thread ", r"^(?P<name>Thread \S+ \((?:active|idle)[^()]*\).*)$"),  # of py-spy
    *(("Thread ", each) for each in (_THREAD, _THREAD_GDB, _THREAD_APPLE)),
)
_NAMES_WITH_REASONS = (
    ("========= ", _COMPUTE_SANITIZER),
    (FAULT, rf"==\d+==\s*(?P<reason>(?P<name>(?P<crashed>{FAULT})\w+Sanitizer): .*)"),
    (">>> ", _THREAD_ANDROID),
    ("thread #", _THREAD_LLDB),
)


def _headings() -> Iterator[HeadingForm]:
    for hint, pattern in (*_NAMES_WITH_REASONS, *_NAMES):
        yield HeadingForm(hint, regex(pattern))
    for hint, pattern in _SPECIAL_REASONS:
        yield HeadingForm(hint, regex(f"(?P<reason>{pattern})"))
    for text in _FIRST_REASONS:
        yield HeadingForm(text, regex(f"^(?P<reason>{text}.*)"))
    for text in _REASONS:
        yield HeadingForm(text, regex(f"(?P<reason>{text}.*)"))


HEADINGS = tuple(_headings())
