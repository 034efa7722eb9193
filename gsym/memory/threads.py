"""The threads of a program that has ended, as a report."""

from __future__ import annotations

from gsym.memory.stack_parts import NO_LIMITS, StackBuilder
from gsym.memory.walking import MOST_FRAMES
from gsym.records import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from gsym.memory.loaded import Loaded
    from gsym.memory.stack_parts import ParsedReport
    from gsym.memory.walking import Registers, Walker

# Limit: Frames of all threads of a core or a minidump
_MOST_IN_ALL = 100_000

SIGNALS = {
    3: "SIGQUIT",
    4: "SIGILL",
    5: "SIGTRAP",
    6: "SIGABRT",
    7: "SIGBUS",
    8: "SIGFPE",
    11: "SIGSEGV",
    31: "SIGSYS",
}
"""Names of the signals of Linux that end a program."""


class Thread(NamedTuple):
    """A thread of a dump; *name* may be empty."""

    number: int
    name: str
    registers: Registers
    is_crashed: bool


class Dump(NamedTuple):
    """A program that has ended.

    Attributes:
        form: What such a file is called.
        program: The command line, or "".
        reason: Why the program ended, or "".
        threads: Its threads, in order.
    """

    form: str
    program: str
    reason: str
    threads: Sequence[Thread]


def dump_report(dump: Dump, loaded: Loaded, walker: Walker) -> ParsedReport:
    """The stacks of the threads, as a report."""
    stack = StackBuilder(NO_LIMITS._replace(frames=_MOST_IN_ALL))
    stack.reason = dump.reason
    if dump.program:
        stack.add_text(f"Program: {dump.program}\n")
    if dump.reason:
        stack.add_text(f"Reason: {dump.reason}\n")
    width = 2 * walker.machine.word + len("0x")
    for each in dump.threads:
        if stack.is_over:
            break
        title = f"Thread {each.number}" + (f' "{each.name}"' if each.name else "")
        stack.begin(title, each.is_crashed)
        stack.add_text(f"\n{title}{' (crashed)' * each.is_crashed}:\n")
        walked = walker.walk(each.registers)
        for number, (address, trust, is_return) in enumerate(walked):
            if number == MOST_FRAMES:
                stack.add_note(
                    f"Only the first {MOST_FRAMES} frames of a thread are shown."
                )
                break
            frame = loaded.frame(address, is_return=is_return)
            stack.add_text(f"#{number:<3} {address:#0{width}x} ")
            stack.add_frame(frame._replace(trust=trust), number=number)
            stack.add_text(f" [{trust}]\n")
    return loaded.finish(stack, dump.form)
