"""Dumps of strangers: read by a confined process, which hands their stacks over."""

from __future__ import annotations

from gsym.lazy import tempfile
from gsym.memory.stack_parts import NO_MODULE, StackFrame
from gsym.modules.places import find_files, known_files
from gsym.reports.symbolicate import is_dump, parse_dump
from gsym.store.archives import inflate_file

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from gsym.memory.stack_parts import ParsedReport, StackModule

# Limit: Frames of a dump that is sent to a server
_MOST_FRAMES = 50_000


def read_confined_dump(
    path: str, folder: str, files: dict[str, list[str]], most_inflated: int
) -> dict[str, Any]:
    """Read a dump; runs in the confined process.

    Args:
        path: The file, which may be compressed.
        folder: Where it is inflated.
        files: Paths of the files of modules, by `module_name`.
        most_inflated: Maximum inflated bytes of the file.

    Returns:
        `file`: the path of the inflated file; `report`: its stacks, if it is a dump;
        `wanted`: names of the modules of which more files may give longer stacks.

    Raises:
        GsymError: The file is damaged.
    """
    tempfile.tempdir = folder
    file = inflate_file(path, folder, most_inflated)
    if not is_dump(file):
        return {"file": file}
    wanted: dict[str, ModuleRow] = {}

    def find(module: StackModule) -> Iterator[str]:
        row = module_row(module)
        name = module_name(row)
        places = [known_files(files.get(name, ()))]
        key = module.key._replace(path="")
        for each in find_files(
            places, key, name=module.name, compare_code=module.compare_code
        ):
            yield each.path
        wanted[name] = row

    report = _packed(parse_dump(file, find))
    return {"file": file, "report": report, "wanted": list(wanted.values())}


ModuleRow = list[str]  # name, path, debug file, debug id, code file, code id


def module_row(module: StackModule) -> ModuleRow:
    """Names and ids that identify a module of a dump."""
    key = module.key
    ids = (key.debug_file, key.debug_id, key.code_file, key.code_id)
    return [module.name, module.path, *ids]


def module_name(row: ModuleRow) -> str:
    """A name of a module of a dump, for `read_confined_dump`."""
    return "\0".join(row)


def _packed(report: ParsedReport) -> dict[str, Any]:
    """A report as JSON values; see `gsym.server.reports.Stacks`."""
    parts: list[Any] = []
    frames = 0
    notes = [*report.notes]
    for part in report.parts:
        if isinstance(part, StackFrame):
            frames += 1
            if frames > _MOST_FRAMES:
                notes.append(f"Only {_MOST_FRAMES:,} frames are shown.")
                break
            is_known = part.module != NO_MODULE
            parts.append(
                [
                    *(part.text, part.module, part.address),
                    *(part.base if is_known else "image", part.is_return),
                    *(part.stack, part.trust),
                ]
            )
        else:
            parts.append(part)
    return {
        "form": report.form,
        "reason": report.reason,
        "notes": notes,
        "stacks": [list(each) for each in report.stacks],
        "modules": [module_row(each) for each in report.modules],
        "parts": parts,
    }
