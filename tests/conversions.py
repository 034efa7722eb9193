"""Convert files made in memory, and put what came out into words.

A function in words, addresses in hexadecimal and half-open:

    1000-1010 f
      1000 /src/a.c:3
      inlined g 1004-1008 from /src/a.c:9
        inlined h 1004-1006 from /src/b.h:2
      call +6 to g
"""

from __future__ import annotations

import faulthandler
import subprocess
from textwrap import dedent
from typing import TYPE_CHECKING, NamedTuple, TypedDict

import gsym

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

SECONDS = 60  # that any conversion in a test may take


class Options(TypedDict, total=False):
    """The keywords of `gsym.convert` that tests set."""

    arch: str
    threads: int
    output_version: int
    uuid: bytes
    merged_functions: bool
    call_sites: bool
    embedded_sources: bool
    path_map: tuple[tuple[str, str], ...]
    verbose: bool
    full_walk: bool
    pclntab: str


class Case(NamedTuple):
    """An input and what its functions are in words.

    *differs* says why llvm-gsymutil's answer is another one; "" where it is not.
    """

    name: str
    image: bytes
    expected: str
    differs: str = ""
    options: Options = {}  # noqa: RUF012 - a default of a NamedTuple


class Conversion(NamedTuple):
    report: gsym.ConversionReport
    functions: list[gsym.FunctionInfo]


def convert_bytes(
    folder: Path, image: bytes, options: Options | None = None
) -> Conversion:
    """Convert *image* and read the result back.

    A hang in the engine cannot be interrupted; it ends the run, with a trace.
    """
    path = folder / "input"
    path.write_bytes(image)
    faulthandler.dump_traceback_later(SECONDS, exit=True)
    try:
        report = gsym.convert(str(path), f"{path}.gsym", **(options or {}))
    finally:
        faulthandler.cancel_dump_traceback_later()
    return Conversion(report, read_functions(f"{path}.gsym"))


def settle(folder: Path, image: bytes) -> str | None:
    """What *image* converts to in words, or None where it is refused."""
    (folder / "input.gsym").unlink(missing_ok=True)
    try:
        return describe(convert_bytes(folder, image).functions)
    except gsym.GsymError:
        assert not (folder / "input.gsym").exists()
        return None


def convert_with_llvm(
    program: str, folder: Path, image: bytes, *options: str
) -> list[gsym.FunctionInfo]:
    """Functions of the file that llvm-gsymutil makes of *image*; none if it fails."""
    path = folder / "llvm-input"
    path.write_bytes(image)
    output = folder / "llvm.gsym"
    subprocess.run(
        [program, f"--convert={path}", f"--out-file={output}", *options],
        check=False,
        capture_output=True,
        timeout=60,
    )
    # It leaves an empty file where it found no function.
    is_made = output.exists() and output.stat().st_size > 0
    return read_functions(str(output)) if is_made else []


def read_functions(path: str) -> list[gsym.FunctionInfo]:
    with gsym.open(path) as reader:
        return list(reader.functions())


def describe(functions: Iterable[gsym.FunctionInfo]) -> str:
    """The functions in words, one thing a line."""
    return "".join(
        f"{line}\n" for function in functions for line in _describe_function(function)
    )


def words(text: str) -> str:
    """*text* as it stands in a test, without the indent that it has there."""
    return dedent(text.lstrip("\n")).rstrip(" ")


def _describe_function(function: gsym.FunctionInfo) -> Iterator[str]:
    end = function.start + function.size
    yield f"{function.start:x}-{end:x} {function.name}"
    for row in function.line_table or ():
        yield f"  {row.address:x} {row.path}:{row.line}"
    if function.inline is not None:
        for child in function.inline.children:
            yield from _describe_inline(child, "  ")
    for site in function.call_sites:
        yield f"  call +{site.return_offset:x} to {' '.join(site.match_regex)}".rstrip()


def _describe_inline(node: gsym.InlineInfo, indent: str) -> Iterator[str]:
    extents = ",".join(f"{start:x}-{end:x}" for start, end in node.ranges)
    call = f"{node.call_path}:{node.call_line}"
    yield f"{indent}inlined {node.name} {extents} from {call}"
    for child in node.children:
        yield from _describe_inline(child, indent + "  ")
