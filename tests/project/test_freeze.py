"""Commands print and write what is recorded; see `tests.freeze`."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.freeze.__main__ import compare
from tests.freeze.transcripts import made
from tests.sanitizer import no_sanitizer

pytestmark = pytest.mark.long

RECORD = Path(__file__).parents[1] / "golden/transcripts"


@no_sanitizer  # whose memory the processes that the server confines do not have
def test_commands_print_and_write_as_recorded() -> None:
    changed = compare(RECORD, dict(made()))
    assert not changed, (
        f"{changed}\npython -m tests.freeze record {RECORD} accepts this"
    )


def test_a_change_of_one_byte_is_found(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("$ gsym\nusage\n\n")
    assert compare(tmp_path, {"a.txt": "$ gsym\nusage\n\n"}) == ""
    assert "-usage\n+Usage\n" in compare(tmp_path, {"a.txt": "$ gsym\nUsage\n\n"})
    assert "-usage\n" in compare(tmp_path, {})
