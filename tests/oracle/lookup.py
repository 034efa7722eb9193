"""Address -> frames and their text as llvm-gsymutil prints it.

With `llvm_rules` the answer is LLVM's, faults included. Without, nothing that is
known gets lost: a row or file that is missing keeps the name, inlined calls count
without a line table too, and a call from an unknown file still gives a frame.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from tests.oracle.records import FunctionInfo, GsymFile, InlineInfo, OracleError


class NotFoundError(OracleError):
    """No function covers the address."""


@dataclass(frozen=True)
class Frame:
    name: bytes
    offset: int
    directory: bytes = b""
    basename: bytes = b""
    line: int = 0


@dataclass(frozen=True)
class Answer:
    """Frames innermost first; all but the last are inlined."""

    address: int
    function: FunctionInfo
    frames: tuple[Frame, ...]
    call_site_patterns: tuple[bytes, ...]


def find_entry(file: GsymFile, address: int) -> int:
    """Among the entries of the greatest start <= address, the first that covers it."""
    starts = [function.start for function in file.functions]
    below = [start for start in starts if start <= address]
    if address >= file.base_address and below:
        for index, function in enumerate(file.functions):
            if function.start == below[-1] and (
                function.size == 0 or address < function.start + function.size
            ):
                return index
    raise NotFoundError(f"address {address:#x} is not in GSYM")


NO_FILE = (0, 0)


def file_entry(file: GsymFile, index: int, *, llvm_rules: bool) -> tuple[int, int]:
    if index < len(file.files):
        return file.files[index]
    if llvm_rules:
        raise OracleError(f"failed to extract file[{index}]")
    return NO_FILE


def concrete_frame(
    file: GsymFile, function: FunctionInfo, address: int, *, llvm_rules: bool
) -> Frame:
    """The function itself, at the last row not behind the address."""
    name, offset = file.string(function.name), address - function.start
    if function.line_table is None:
        return Frame(name, offset)
    rows = [row for row in function.line_table if row.address <= address]
    if llvm_rules and (not rows or rows[-1].file == 0):
        raise OracleError(f"address {address:#x} is not in the line table")
    if not rows:
        return Frame(name, offset)
    directory, basename = file_entry(file, rows[-1].file, llvm_rules=llvm_rules)
    return Frame(
        name, offset, file.string(directory), file.string(basename), rows[-1].line
    )


def inlined_path(root: InlineInfo | None, address: int) -> list[InlineInfo]:
    """Nodes that cover *address*, from the root to the innermost."""
    path = []
    siblings: tuple[InlineInfo, ...] = () if root is None else (root,)
    while covering := [node for node in siblings if node.contains(address)]:
        path.append(covering[0])
        siblings = covering[0].children
    return path


def frames_at(
    file: GsymFile, function: FunctionInfo, address: int, *, llvm_rules: bool
) -> list[Frame]:
    """The concrete frame split at each inlined call that covers *address*.

    Innermost first, the last frame takes the name of the inlined function, and its
    caller comes behind it. A root is the function itself, so without a call site it
    stands for no call.
    """
    frames = [concrete_frame(file, function, address, llvm_rules=llvm_rules)]
    if function.line_table is None and llvm_rules:
        return frames
    path = inlined_path(function.inline, address)
    for node in path:  # LLVM reports the outermost of several unknown files
        file_entry(file, node.call_file, llvm_rules=llvm_rules)
    for depth, node in reversed(list(enumerate(path))):
        call_file = file_entry(file, node.call_file, llvm_rules=llvm_rules)
        if call_file == NO_FILE and (llvm_rules or depth == 0):
            continue
        directory, basename = map(file.string, call_file)
        last = frames[-1]
        offset = address - node.ranges[0][0]
        frames[-1] = replace(last, name=file.string(node.name), offset=offset)
        frames.append(
            Frame(last.name, last.offset, directory, basename, node.call_line)
        )
    return frames


def answer_of(
    file: GsymFile, function: FunctionInfo, address: int, *, llvm_rules: bool
) -> Answer:
    if function.name == 0:
        raise OracleError("invalid FunctionInfo Name value 0x0")
    patterns: tuple[bytes, ...] = ()
    for site in function.call_sites:
        if site.return_offset == address - function.start:
            patterns = tuple(map(file.string, site.regexes))
            break
    frames = frames_at(file, function, address, llvm_rules=llvm_rules)
    if llvm_rules:  # which keep 32 bits of an offset
        frames = [replace(frame, offset=frame.offset % 2**32) for frame in frames]
    return Answer(address, function, tuple(frames), patterns)


def lookup(file: GsymFile, address: int, *, llvm_rules: bool) -> Answer:
    """Answer *address*; an address without an answer raises."""
    function = file.functions[find_entry(file, address)]
    return answer_of(file, function, address, llvm_rules=llvm_rules)


def lookup_merged(file: GsymFile, address: int, *, llvm_rules: bool) -> list[Answer]:
    """The answer to *address*, then those of the functions merged into that one."""
    function = file.functions[find_entry(file, address)]
    return [
        answer_of(file, each, address, llvm_rules=llvm_rules)
        for each in (function, *function.merged)
    ]


# ---- text -----------------------------------------------------------------------


def frame_text(frame: Frame, *, inlined: bool) -> bytes:
    out = frame.name
    if frame.offset:
        out += b" + %d" % frame.offset
    if frame.directory or frame.basename:
        out += b" @ " + frame.directory
        if frame.directory:
            backslash = b"\\" in frame.directory and b"/" not in frame.directory
            out += b"\\" if backslash else b"/"
        out += (frame.basename or b"<invalid-file>") + b":%d" % frame.line
    return out + (b" [inlined]" if inlined else b"")


def answer_text(answer: Answer, *, call_sites: bool = False) -> bytes:
    last = len(answer.frames) - 1
    lines = [
        frame_text(frame, inlined=index < last)
        for index, frame in enumerate(answer.frames)
    ]
    out = b"0x%016x: " % answer.address + (b"\n" + b" " * 20).join(lines)
    if call_sites and answer.call_site_patterns:
        out += b"\n      CallSites: " + b", ".join(answer.call_site_patterns)
    return out + b"\n"
