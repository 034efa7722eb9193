"""Answers as the text of responses.

JSON is put together from pieces, for most pieces recur: what is known of a name or a
file is encoded once for each module that is open.
"""

from __future__ import annotations

import msgspec

from gsym.demangling import demangle
from gsym.model import join_path

__all__ = ["answer_v4", "answer_v5"]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    from gsym.api.symbolication import ModuleWork, Symbolication
    from gsym.symbolizer import OpenModule

    PathMap = Callable[[str], str]

# Of one kind, for each open module.
_MOST_KEPT = 1 << 15
_MOST_KEPT_SIZE = 1 << 22  # characters
_OPENINGS = [f'{{"frame":{number},' for number in range(1024)]
_encode = msgspec.json.encode
_STATES = {True: "true", False: "false", None: "null"}
_ERROR_NAMES = {
    "missing": "ModuleMissing",
    "failed": "SourceFailed",
    "refused": "FileRefused",
}


def answer_v5(
    work: Symbolication,
    path_map: PathMap | None = None,
    *,
    debug: dict[str, Any] | None = None,
    has_errors: bool = True,
) -> bytes:
    """The body of a response to `/symbolicate/v5`.

    Args:
        work: Looked up.
        path_map: What becomes of paths of source files; None: nothing.
        debug: What stands under `debug`; None: no such key.
        has_errors: Whether it tells why modules are missing.
    """
    texts = {
        id(module): dict(_frame_texts(module, path_map))
        for module in _all_modules(work)
    }
    results = []
    for job, modules in work.jobs:
        text_of = [texts[id(module)] for module in modules]
        stacks = ",".join([_stack_text(stack, text_of) for stack in job.stacks])
        named = {module.label: module for module in modules[:-1]}
        found = ",".join(
            [f"{_quoted(label)}:{_state(each)}" for label, each in named.items()]
        )
        result = f'{{"stacks":[{stacks}],"found_modules":{{{found}}}'
        if has_errors:
            result += _errors_text(named)
        results.append(result + "}")
    text = f'{{"results":[{",".join(results)}]'
    if debug is not None:
        text += f',"debug":{_encode(debug).decode()}'
    return (text + "}").encode()


def answer_v4(work: Symbolication) -> bytes:
    """The body of a response to `/symbolicate/v4`, of a request with one job."""
    ((job, modules),) = work.jobs
    texts = [dict(_call_texts(module)) for module in modules]
    stacks = [[texts[index][offset] for index, offset in stack] for stack in job.stacks]
    known = [module.is_found if module.is_wanted else None for module in modules[:-1]]
    return _encode({"symbolicatedStacks": stacks, "knownModules": known})


def _all_modules(work: Symbolication) -> Iterator[ModuleWork]:
    yield from work.modules.values()
    if work.jobs:
        yield work.jobs[0][1][-1]


def _stack_text(stack: list[tuple[int, int]], texts: list[dict[int, str]]) -> str:
    openings = _OPENINGS
    if len(stack) > len(openings):
        openings = [f'{{"frame":{number},' for number in range(len(stack))]
    frames = [
        opening + texts[index][offset]
        for opening, (index, offset) in zip(openings, stack)  # noqa: B905 - may be longer
    ]
    return f"[{','.join(frames)}]"


def _state(module: ModuleWork) -> str:
    return _STATES[module.is_found if module.is_wanted else None]


def _errors_text(modules: dict[str, ModuleWork]) -> str:
    """Why modules are missing; "" where none is."""
    errors = {
        label: _errors(module)
        for label, module in modules.items()
        if module.is_wanted and not module.is_found
    }
    return f',"module_errors":{_encode(errors).decode()}' if errors else ""


def _errors(work: ModuleWork) -> list[dict[str, str]]:
    if work.key is None:
        text = f"'{work.debug_id}' is no debug id"
        return [{"name": "InvalidBreakpadId", "message": text}]
    attempts = work.module.attempts if work.module is not None else ()
    said = [
        {
            "name": _ERROR_NAMES.get(attempt.outcome, "SourceFailed"),
            "message": _clean(f"{attempt.source}: {attempt.detail or attempt.outcome}"),
        }
        for attempt in attempts
        if attempt.outcome != "found"
    ]
    message = "no symbols for this module"
    return said or [{"name": "ModuleMissing", "message": message}]


# ---- frames


def _frame_texts(
    work: ModuleWork, path_map: PathMap | None
) -> Iterator[tuple[int, str]]:
    """Offset and text of each frame of a module, without its number."""
    module = f'"module":{_quoted(work.shown_name)},"module_offset":"'
    for offset in work.offsets:
        yield offset, f'{module}{hex(offset)}"}}'
    if work.frames is None or work.module is None:
        return
    pieces = _pieces(work.module, work.frames.tables, path_map)
    names, files, sizes = pieces.names, pieces.files, pieces.sizes
    frames, asked = work.frames, work.asked
    inlines: list[str] = []
    for at, entry, name, file, line, start, inlined in zip(  # noqa: B905 - of one table
        frames.address_index.tolist(),
        frames.function.tolist(),
        frames.name.tolist(),
        frames.file.tolist(),
        frames.line.tolist(),
        frames.offset.tolist(),
        frames.inlined.tolist(),
    ):
        place = files[file]
        if line and place:
            place = f'{place},"line":{line}'
        if inlined:
            inlines.append(f'{{"function":{names[name]}{place}}}')
            continue
        if inlines:
            place = f'{place},"inlines":[{",".join(inlines)}]'
            inlines.clear()
        offset = asked[at]
        function = f'"function":{names[name]},"function_offset":"{hex(start)}"'
        yield offset, f'{module}{hex(offset)}",{function}{sizes[entry]}{place}}}'


def _call_texts(work: ModuleWork) -> Iterator[tuple[int, str]]:
    """Offset and text of each frame of a module, as version 4 has it."""
    module = _clean(work.shown_name)
    for offset in work.offsets:
        yield offset, f"{hex(offset)} (in {module})"
    frames = work.frames
    if frames is None:
        return
    strings = frames.tables.strings
    for at, name, inlined in zip(frames.address_index, frames.name, frames.inlined):  # noqa: B905
        if not inlined:
            yield work.asked[at], f"{_clean(demangle(strings[name]))} (in {module})"


class _Pieces:
    """Names, files and sizes of functions of an open module, encoded."""

    __slots__ = ("files", "names", "sizes")

    def __init__(self, tables: Any, path_map: PathMap | None) -> None:
        def name(number: int) -> str:
            return _quoted(demangle(tables.strings[number]))

        def file(number: int) -> str:
            path = join_path(*tables.files[number])
            if not path:
                return ""
            return f',"file":{_quoted(path_map(path) if path_map else path)}'

        def size(entry: int) -> str:
            found = tables.function_ranges(entry)[0].size
            return f',"function_size":"{hex(found)}"' if found else ""

        self.names = _Kept(name)
        self.files = _Kept(file)
        self.sizes = _Kept(size)


class _Kept(dict[int, str]):
    """Pieces by their number; emptied when it is full."""

    __slots__ = ("_make", "_size")

    def __init__(self, make: Callable[[int], str]) -> None:
        self._make = make
        self._size = 0

    def __missing__(self, number: int) -> str:
        piece = self._make(number)
        self._size += len(piece)
        if len(self) >= _MOST_KEPT or self._size > _MOST_KEPT_SIZE:
            self.clear()
            self._size = len(piece)
        self[number] = piece
        return piece


def _pieces(module: OpenModule, tables: Any, path_map: PathMap | None) -> _Pieces:
    kept = module.texts.get("v5")
    if kept is None or kept[0] is not path_map:
        kept = module.texts["v5"] = (path_map, _Pieces(tables, path_map))
    found: _Pieces = kept[1]
    return found


def _quoted(text: str) -> str:
    return _encode(_clean(text)).decode()


def _clean(text: str) -> str:
    """Without what is no text: names are bytes of any kind."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()
