"""Requests as /symbolicate/v5 and /symbolicate/v4 take them.

Read leniently: what is no frame is left out, for a person is to see the rest of it.
"""

from __future__ import annotations

from gsym.symbolication.stacks.modules import module_of_debug_id
from gsym.symbolication.stacks.parts import NO_MODULE, StackFrame

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from gsym.symbolication.stacks.parts import StackBuilder

_PAIR = 2


def is_symbolication_request(request: Any) -> bool:
    """Whether decoded JSON is such a request."""
    return isinstance(request, dict) and (
        isinstance(request.get("jobs"), list) or _is_job(request)
    )


def add_symbolication_request(request: Mapping[str, Any], stack: StackBuilder) -> None:
    """Take a decoded request in."""
    jobs = request.get("jobs")
    several = jobs if isinstance(jobs, list) else [request]
    for number, job in enumerate(several):
        if not _is_job(job):
            stack.add_note(f"Job {number} has no memoryMap and stacks.")
            continue
        prefix = f"Job {number}, stack" if len(several) > 1 else "Stack"
        _add_job(job, prefix, stack)


def _is_job(job: Any) -> bool:
    return isinstance(job, dict) and all(
        isinstance(job.get(key), list) for key in ("memoryMap", "stacks")
    )


def _add_job(job: Mapping[str, Any], prefix: str, stack: StackBuilder) -> None:
    modules = [_module_number(entry, stack) for entry in job["memoryMap"]]
    for number, frames in enumerate(job["stacks"]):
        stack.add_text(f"{prefix} {number}:\n")
        for at, frame in enumerate(frames if isinstance(frames, list) else ()):
            if not _is_pair(frame, int):
                stack.add_note("What is no pair of numbers was left out.")
                continue
            index, offset = frame
            module = modules[index] if 0 <= index < len(modules) else NO_MODULE
            stack.add_text(f"{at:<4}")
            stack.add_frame(StackFrame(f"{offset:#x}", module, offset))
            stack.add_text("\n")


def _module_number(entry: Any, stack: StackBuilder) -> int:
    if not _is_pair(entry, str) or not entry[0]:
        return NO_MODULE
    return stack.number(module_of_debug_id(entry[0], entry[1]))


def _is_pair(value: Any, kind: type) -> bool:
    return (
        isinstance(value, list)
        and len(value) == _PAIR
        and all(type(each) is kind for each in value)
    )
