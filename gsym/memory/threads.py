"""The threads of a program that has ended, as a report."""

from __future__ import annotations

from gsym.containers.disassembly import instruction_text
from gsym.errors import GsymError
from gsym.memory.stack_parts import NO_LIMITS, ParsedReport, StackBuilder, StackFrame
from gsym.records import NamedTuple

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Sequence

    from gsym.memory.loaded import Loaded
    from gsym.memory.walking import Registers, WalkedFrame, Walker

# Limit: Frames of all threads of a core or a minidump
_MOST_IN_ALL = 100_000
_MAX_INSTRUCTION = 16  # bytes


class Thread(NamedTuple):
    """A thread of a dump; *name* may be empty.

    *is_after*: its program counter is after the instruction at which it stopped.
    """

    number: int
    name: str
    registers: Registers
    is_crashed: bool
    is_after: bool = False


class Dump(NamedTuple):
    """A program that has ended."""

    form: str
    program: str
    reason: str
    threads: Sequence[Thread]


def dump_report(dump: Dump, loaded: Loaded, walker: Walker) -> ParsedReport:
    """The stacks of the threads, as a report."""
    stack = StackBuilder(NO_LIMITS._replace(frames=_MOST_IN_ALL))
    stack.reason = dump.reason
    for what, text in (("Program", dump.program), ("Reason", dump.reason)):
        stack.add_text(f"{what}: {text}\n" if text else "")
    width = 2 * walker.machine.word + len("0x")
    # With the texts around them; most threads wait in one place.
    frames: dict[WalkedFrame, tuple[str, StackFrame, str]] = {}
    for each in dump.threads:
        if stack.is_over:
            break
        title = f"Thread {each.number}" + (f' "{each.name}"' if each.name else "")
        walked = walker.walk(each.registers, is_after=each.is_after)
        stack.begin(title, each.is_crashed, walked.end, walked.left_out)
        stack.add_registers(*_state(each, walker))
        stack.add_text(f"\n{title}{' (crashed)' * each.is_crashed}:\n")
        for at, found in enumerate(walked.frames):
            number = at
            if walked.left_out and at >= walked.left_out_at:
                number += walked.left_out
                if at == walked.left_out_at:
                    repeated = "one" if walked.period == 1 else walked.period
                    what = f": they repeat the {repeated} before" * bool(walked.period)
                    stack.add_text(f"{walked.left_out:,} frames are left out{what}\n")
            if found not in frames:
                address, trust, is_return = found
                frame = loaded.frame(address, is_return=is_return)
                before = f"{address:#0{width}x} "
                after = f" [{trust}]\n"
                frames[found] = before, frame._replace(trust=trust), after
            before, frame, after = frames[found]
            stack.add_text(f"#{number:<3} {before}")
            stack.add_frame(frame, number=number)
            stack.add_text(after)
        if walked.left_out:
            shown = len(walked.frames)
            counts = f"{shown} of the {shown + walked.left_out:,} frames"
            stack.add_note(f"Only {counts} of a thread are shown.")
        if walked.end:
            stack.add_text(f"The stack is cut here: {walked.end}.\n")
    return loaded.finish(stack, dump.form)


def _state(thread: Thread, walker: Walker) -> tuple[list[tuple[str, int]], str]:
    """The registers of a thread that crashed, and the instruction at which it did."""
    if not thread.is_crashed:
        return [], ""
    machine, (pc, values, is_thumb) = walker.machine, thread.registers
    if machine.pc >= 0:
        values = {**values, machine.pc: pc}
    registers = [
        (name, values[number])
        for number, name in enumerate(machine.names)
        if number in values
    ]
    if machine.pc < 0:
        registers.append(("pc", pc))
    at = pc - thread.is_after
    code = walker.memory(at, _MAX_INSTRUCTION)
    if not machine.architecture or not code:
        return registers, ""
    try:
        text = instruction_text(
            *(code, at, machine.architecture),
            is_big_endian=machine.order == "big",
            is_thumb=is_thumb,
        )
    except (GsymError, OSError):  # without the extra
        text = ""
    return registers, text
