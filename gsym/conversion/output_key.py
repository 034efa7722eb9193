"""The key of an output: whether a conversion would write the same file again.

`OUTPUT.gsym-key` beside an output of `if_changed` holds, as JSON, the version of gsym,
the options, size and time of modification of each file that was read or written, and
the report. While all these are the same, there is nothing to convert. A conversion that
missed a file that belongs to its input leaves no key: the file may be there next time.
"""

from __future__ import annotations

import os
import time

from gsym import __version__
from gsym.cache import stamp_at
from gsym.conversion.output import ConversionRequest, peak_memory
from gsym.conversion.report import ConversionReport, ConversionWarning
from gsym.lazy import json
from gsym.writing.atomic_file import AtomicFile

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any


KEY_SUFFIX = ".gsym-key"
_TICK = 0.01  # seconds: more than the precision of times of modification
_BYTES = ("uuid", "build_id")
_LISTS = ("outputs", "companions", "notes")


def unchanged_report(request: ConversionRequest) -> ConversionReport | None:
    """The report of the conversion that wrote the output, if it would write it again.

    None where the output has no key, or anything differs.
    """
    try:
        with open(request.output + KEY_SUFFIX, encoding="utf-8") as file:
            key = _parse(file.read())
        if key["made by"] != _maker(request) or key["files"] != _stamps(key["files"]):
            return None
        report = key["report"]
        report |= {name: bytes.fromhex(report[name]) for name in _BYTES}
        report |= {name: tuple(report[name]) for name in _LISTS}
        report["placements"] = tuple(map(tuple, report["placements"]))
        report["details"] = tuple(
            ConversionWarning(*each) for each in report["details"]
        )
        found = ConversionReport(**report)
    except (OSError, ValueError, KeyError, TypeError, StopIteration):
        return None  # no key, or not one of this version
    return found._replace(
        seconds=time.perf_counter() - request.started,
        peak_memory=peak_memory(),
        is_written=False,
    )


def write_key(request: ConversionRequest, report: ConversionReport) -> None:
    """Write the key of the output."""
    path = request.output + KEY_SUFFIX
    read = _stamps([report.input, *report.companions])
    files = read | _stamps(report.outputs)
    is_complete = report.functions_debug_info and not report.notes
    seconds = time.perf_counter() - request.started + _TICK
    began = time.time_ns() - int(seconds * 1e9)
    is_changing = any(each is not None and each[0] > began for each in read.values())
    if not is_complete or None in files.values() or is_changing:
        if os.path.exists(path):
            os.unlink(path)
        return
    fields = report._asdict() | {name: getattr(report, name).hex() for name in _BYTES}
    key = {"made by": _maker(request), "files": files, "report": fields}
    with AtomicFile(path, sync_folder=False) as file:
        file.write(json.dumps(key, indent=1).encode() + b"\n")


class _Scanning:
    """Numbers and objects as the scanner of the module `json` reads them."""

    strict = True
    object_hook = object_pairs_hook = None
    parse_float = parse_constant = float
    parse_int = int
    memo: dict[str, str] = {}  # noqa: RUF012 - of the scanner


def _parse(text: str) -> Any:
    """Parse as `json.loads` does; its import takes longer than all the rest here."""
    try:
        from _json import make_scanner
    except ImportError:  # not CPython
        return json.loads(text)
    scanning: Any = _Scanning
    return make_scanner(scanning)(text, 0)[0]


def _maker(request: ConversionRequest) -> list[str]:
    """The options and versions that the bytes depend on besides the files."""
    options = request.options._replace(threads=None)
    patterns = [
        (getattr(each, "pattern", each), getattr(each, "flags", 0))
        for each in (*options.keep_functions, None, *options.drop_functions)
    ]
    options = options._replace(keep_functions=(), drop_functions=())
    return [__version__, request.input, repr((options, patterns))]


def _stamps(paths: Iterable[str]) -> dict[str, list[int] | None]:
    """Time and size of each path; None of what is not a regular file.

    A copy of a folder, as caches of builds make it, has other inodes.
    """
    stamps = {path: stamp_at(path) for path in paths}
    return {
        path: stamp and [stamp.modified, stamp.size] for path, stamp in stamps.items()
    }
