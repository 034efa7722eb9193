"""Every function that llvm-dwarfdump shows with lines has lines in our file.

The small programs are built here. GSYM_CORPUS names a folder of real binaries with
subfolders `big` and `v`; the table of what they hold is printed then.
"""

from __future__ import annotations

import mmap
import os
from pathlib import Path

import pytest

import gsym
from tests.conftest import find_peer
from tests.differential import peers
from tests.differential.line_coverage import LLVM_DWARFDUMP, Coverage, cover

CORPUS = os.environ.get("GSYM_CORPUS")
MAGICS = (b"\x7fELF", b"\xcf\xfa\xed\xfe", b"MZ")
PARTS = {".dwo", ".dwp"}  # of the debug information of another file
SUPPLEMENT = "dwz-common.debug"  # of two other files; it has no function


def inputs() -> list[Path]:
    """The binaries of the corpus."""
    if CORPUS is None:
        return []
    files = [path for name in ("big", "v") for path in Path(CORPUS).glob(f"{name}/*")]
    return sorted(
        path
        for path in files
        if path.is_file()
        and path.suffix not in PARTS
        and path.name != SUPPLEMENT
        and holds(path, *MAGICS, size=4)
    )


def holds(path: Path, *words: bytes, size: int = 0) -> bool:
    """Whether one of *words* stands in the file, or in its first *size* bytes."""
    with (
        path.open("rb") as file,
        mmap.mmap(file.fileno(), size, access=mmap.ACCESS_READ) as data,
    ):
        return any(data.find(word) >= 0 for word in words)


def debug_file_of(binary: Path, folder: Path) -> Path:
    """What llvm-dwarfdump has to read to see the DWARF of *binary*."""
    bundle = Path(f"{binary}.dSYM", "Contents/Resources/DWARF", binary.name)
    for other in (bundle, Path(f"{binary}.debug")):
        if other.exists():
            return other
    if holds(binary, b".zdebug_info"):  # which it leaves out
        inflated = folder / "inflated"
        peers.run("objcopy", "--decompress-debug-sections", str(binary), str(inflated))
        return inflated
    return binary


def check(binary: Path, folder: Path) -> Coverage:
    find_peer(LLVM_DWARFDUMP)
    output = folder / "out.gsym"
    gsym.convert(binary, output)
    found = cover(binary, debug_file_of(binary, folder), output)
    assert found.missing == []
    assert found.functions > 0
    return found


@pytest.mark.skipif(CORPUS is None, reason="GSYM_CORPUS names no folder")
@pytest.mark.parametrize("binary", inputs(), ids=lambda path: path.name)
def test_real_binaries_keep_their_lines(
    binary: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = check(binary, tmp_path)
    with capsys.disabled():
        row = f"{binary.name:<32} {found.with_lines:>7} / {found.functions:>7}"
        print(f"\n{row}", end="")  # noqa: T201 - a row of the table
