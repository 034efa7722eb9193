"""Symbolicated stacks as text for people."""

from __future__ import annotations

from gsym.cli.terminal import printable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from gsym.symbolication.client.jobs import JobAnswer, StackFrame


def job_lines(number: int, answer: JobAnswer) -> Iterator[str]:
    """The lines of a job: its stacks, then the modules without symbols."""
    for at, stack in enumerate(answer.stacks):
        yield f"job {number}, stack {at}"
        width = len(str(len(stack) - 1))
        for index, frame in enumerate(stack):
            first, *rest = _frame_lines(frame)
            yield f"  {index:>{width}}  {first}"
            yield from (f"  {'':>{width}}  {line}" for line in rest)
    for name, is_found in answer.found_modules.items():
        if is_found is False:
            yield f"no symbols: {printable(name)}"


def _frame_lines(frame: StackFrame) -> Iterator[str]:
    """Innermost first; the function that all is inlined into comes last."""
    module = printable(frame.module)
    for function, file, line in frame.inlines:
        yield f"{module}  {printable(function)} [inlined]{_place(file, line)}"
    if frame.function is None:
        yield f"{module}  {frame.module_offset:#x}"
        return
    offset = f" + {frame.function_offset}" if frame.function_offset else ""
    place = _place(frame.file, frame.line)
    yield f"{module}  {printable(frame.function)}{offset}{place}"


def _place(file: str, line: int) -> str:
    return f" at {printable(file)}:{line or '?'}" if file else ""
