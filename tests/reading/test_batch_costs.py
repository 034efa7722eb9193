"""What `lookup_many` may cost, whatever the file and the addresses are."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from tests import oracle
from tests.callgrind import count_instructions
from tests.conftest import REPOSITORY
from tests.handmade import END, MAIN, ONE, START, file_of, function_of, info
from tests.inputs.encoding import uleb
from tests.sanitizer import no_sanitizer

if TYPE_CHECKING:
    from pathlib import Path

PIECES = 1_000  # of the one call that is in the way of an index
ASK = """
import gsym, sys
from pathlib import Path
start, size = int(sys.argv[2]), int(sys.argv[3])
reader = gsym.Reader(Path(sys.argv[1]).read_bytes())
asked = [start + at * 7919 % size for at in range(2_000)]
for address in asked:
    reader.lookup(address)
reader.lookup_many(asked)
assert reader.index_size == 0
"""
# Many frames at first, then addresses without an answer: a guess by the first ones goes
# far beyond what is there.
SKEWED = """
import resource
from array import array
import gsym
ranges = (gsym.Range(0x1000, 0x1010),)
node = gsym.InlineInfo("inner", "a.c", 1, ranges)
for _ in range(30):
    node = gsym.InlineInfo("call", "a.c", 1, ranges, (node,))
root = gsym.InlineInfo("f", "", 0, ranges, (node,))
line = gsym.LineEntry(0x1000, "a.c", 3)
with gsym.Creator() as creator:
    creator.add(gsym.FunctionInfo(0x1000, 16, "f", (line,), root))
    data = creator.to_bytes()
asked = array("Q", [0x1001]) * (1 << 17) + array("Q", [1]) * (40 << 17)
reader = gsym.Reader(data)
resource.setrlimit(resource.RLIMIT_AS, (2 << 30, 2 << 30))
print(len(reader.lookup_many(asked, misses=False)))
"""


def unindexable() -> bytes:
    """One function whose tree asks for more work than an index may take."""
    size = 2 * PIECES
    fields = ONE.to_bytes(4, "little") + uleb(1) + uleb(7)
    everywhere = uleb(1) + uleb(0) + uleb(size)
    pieces = b"".join(uleb(2 * at) + uleb(1) for at in range(PIECES))
    tree = (
        *(everywhere, b"\1", fields, uleb(PIECES), pieces, b"\0", fields),
        *((everywhere + b"\0" + fields,) * PIECES),
        b"\0",
    )
    record = size.to_bytes(4, "little") + MAIN.to_bytes(4, "little")
    record += info(2, b"".join(tree)) + END
    return bytes(oracle.encode_file(file_of(function_of()), [record]))


@pytest.mark.slow
def test_a_record_without_an_index_costs_no_more_than_lookups(tmp_path: Path) -> None:
    path = tmp_path / "file.gsym"
    path.write_bytes(unindexable())
    single, many = count_instructions(
        *(ASK, str(path), str(START), str(2 * PIECES)),
        folder=tmp_path,
        starts=["gsym_image_open", "gsym_image_lookup_many"],
    )
    assert many.engine < 2 * single.engine


@no_sanitizer
def test_room_that_is_not_needed_need_not_be_there() -> None:
    done = subprocess.run(
        [sys.executable, "-c", SKEWED],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stderr == ""
    assert int(done.stdout) == 32 << 17
