"""A symbolized report as the page gets it, in JSON."""

from __future__ import annotations

import msgspec

from gsym.server.page_records import (
    AttemptShown,
    CallShown,
    ModuleShown,
    attempts_shown,
    call_shown,
    module_shown,
    shown,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gsym.reports.path_map import PathMap
    from gsym.reports.report import Report, ReportFrame
    from gsym.reports.report_work import ReportWork

_MOST_CANDIDATES = 50


class FrameAnswer(msgspec.Struct):
    """The symbols at an address of a paste.

    Attributes:
        text: The original text.
        module: Index into the modules of the response, or -1.
        address: As in the paste, hexadecimal.
        calls: Innermost first, the function itself last; empty if unknown.
        reason: Why there are no calls, if the module is available.
        call_offset: Of the byte that was looked up, from the start of the module,
            hexadecimal; "" without calls.
    """

    text: str
    module: int
    address: str
    calls: list[CallShown] = []
    reason: str = ""
    call_offset: str = ""


class ModuleAnswer(msgspec.Struct):
    """The result for a module of a paste.

    Attributes:
        name: As in the paste, without folder.
        debug_id: Of the module that was found, else as in the paste.
        code_id: Of the module that was found, else as in the paste.
        state: "found", "missing", or "unused" (no frame is in it).
        reason: Why it is missing.
        attempts: The result from each source.
        unsure: Why it may be of another build: without an id in the paste, the newest
            module of the name is taken; "" if it is not.
        candidates: Without an id: all modules of the name, the newest first.
    """

    name: str
    debug_id: str
    code_id: str
    state: str = "unused"
    reason: str = ""
    attempts: list[AttemptShown] = []
    unsure: str = ""
    candidates: list[ModuleShown] = []


class ThreadAnswer(msgspec.Struct):
    """A stack of a paste.

    Attributes:
        name: What the paste says of it, or "".
        is_crashed: Whether it is that of the thread that crashed.
        frames: Number of its frames, which follow those of the stack before.
    """

    name: str
    is_crashed: bool
    frames: int


class PasteAnswer(msgspec.Struct):
    """A symbolized paste.

    Attributes:
        form: The recognized format.
        reason: Why the program ended, as the paste says; "" if it does not.
        is_verbatim: Whether the texts are those of the paste.
        parts: Texts, and indexes into `frames`, in order.
        frames: The frames between the texts.
        threads: The stacks, in order.
        modules: The modules of the paste.
        notes: What was left out.
        serves_sources: Whether `/source/v1` answers.
    """

    form: str
    reason: str
    is_verbatim: bool
    parts: list[str | int]
    frames: list[FrameAnswer]
    threads: list[ThreadAnswer]
    modules: list[ModuleAnswer]
    notes: list[str]
    serves_sources: bool = False


def paste_answer(
    work: ReportWork,
    report: Report,
    path_map: PathMap | None = None,
    *,
    serves_sources: bool = False,
) -> PasteAnswer:
    """The answer to a paste.

    Args:
        work: The work for it, with the modules to choose from.
        report: Its result.
        path_map: Rewrites paths of source files; None: unchanged.
        serves_sources: Whether `/source/v1` answers.
    """
    first = [0]
    for thread in report.threads:
        first.append(first[-1] + len(thread.frames))
    return PasteAnswer(
        report.form,
        shown(report.reason),
        report.is_verbatim,
        [
            part if isinstance(part, str) else first[part[0]] + part[1]
            for part in report.parts
        ],
        [_frame_answer(frame, path_map) for frame in report.frames()],
        [
            ThreadAnswer(shown(each.name), each.is_crashed, len(each.frames))
            for each in report.threads
        ],
        [
            ModuleAnswer(
                shown(module.name),
                module.debug_id,
                module.code_id,
                module.state,
                shown(module.reason),
                attempts_shown(module.attempts),
                shown(module.unsure),
                [module_shown(entry) for entry in each.candidates[:_MOST_CANDIDATES]],
            )
            for each, module in zip(work.modules, report.modules, strict=True)
        ],
        list(report.notes),
        serves_sources,
    )


def _frame_answer(frame: ReportFrame, path_map: PathMap | None) -> FrameAnswer:
    calls = [
        call_shown(
            call.name, (call.directory, call.filename), call.line, call.offset, path_map
        )
        for call in frame.calls
    ]
    address = hex(frame.address if frame.offset is None else frame.offset)
    call = "" if frame.offset is None else hex(frame.offset - frame.is_return)
    return FrameAnswer(frame.text, frame.module, address, calls, frame.reason, call)
