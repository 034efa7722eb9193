"""Hostile counts do not make the reader allocate, and closing gives all back."""

from __future__ import annotations

import gc
import subprocess
import sys
from pathlib import Path

import pytest

import gsym
from tests.conftest import REPOSITORY
from tests.engine.test_hostile_images import REFUSED, patch
from tests.engine.test_hostile_records import DAMAGED, END_OF_LIST, file_with
from tests.hostile import small_file
from tests.sanitizer import no_sanitizer

# Runs in a process of its own, because the limit cannot be lifted again.
ASK_WITHIN_LIMIT = """
import resource, sys
from pathlib import Path
from tests.hostile import ask
resource.setrlimit(resource.RLIMIT_AS, (512 << 20, 512 << 20))
for path in sorted(Path(sys.argv[1]).iterdir()):
    ask(path.read_bytes())
    print(path.name)
"""


@no_sanitizer
def test_hostile_counts_are_answered_within_512_megabytes(tmp_path: Path) -> None:
    images = {
        **{
            name: patch(small_file(version, "little"), *changes)
            for name, (version, changes) in REFUSED.items()
        },
        **{
            f"{name}, version {version}": file_with(version, body + END_OF_LIST)
            for name, body in DAMAGED.items()
            for version in (1, 2)
        },
    }
    for name, data in images.items():
        (tmp_path / name).write_bytes(data)
    done = subprocess.run(
        [sys.executable, "-c", ASK_WITHIN_LIMIT, str(tmp_path)],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stderr == ""
    assert done.stdout.splitlines() == sorted(images)


def resident_bytes() -> int:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * 4096


def use_once(data: bytes, refused: bytes) -> None:
    with gsym.Reader(data) as reader:
        list(reader.functions())
        reader.lookup_many([0x1000, 0x1004]).to_pylist()
        functions = list(reader.functions())
    with gsym.Creator() as creator:
        for function in functions:
            creator.add(function)
        creator.to_bytes()
    with pytest.raises(gsym.GsymError):
        gsym.Reader(refused)


@pytest.mark.slow
@no_sanitizer
def test_reading_and_writing_again_and_again_does_not_grow() -> None:
    data = small_file(1, "little")
    refused = data[:60]
    for _ in range(200):
        use_once(data, refused)
    gc.collect()
    before = resident_bytes()
    for _ in range(2_000):
        use_once(data, refused)
    gc.collect()
    assert resident_bytes() - before < 2 << 20  # 1 kB lost a round would show
