"""The records: what they hold by default, and what `help` says of them."""

from __future__ import annotations

import copy
import pickle
from typing import TYPE_CHECKING

import gsym
from gsym import model
from gsym.cli.main import main
from gsym.conversion import report as conversion_report

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

RECORDS = (
    *(gsym.LineEntry, gsym.Range, gsym.InlineInfo, gsym.CallSite, gsym.FunctionRange),
    *(gsym.FunctionInfo, gsym.Frame, gsym.Lookup, gsym.Header),
    *(conversion_report.ConversionReport, conversion_report.ConversionWarning),
)


def test_functions_have_separate_extra_fields() -> None:
    one, other = gsym.FunctionInfo(1, 2, "f"), gsym.FunctionInfo(1, 2, "f")
    assert one == other
    one.extra[9] = b"x"
    assert other.extra == {}
    assert gsym.FunctionInfo(1, 2, "f", extra={9: b"x"}) == one


def test_functions_survive_copying() -> None:
    info = gsym.FunctionInfo(1, 2, "f", extra={9: b"x"})
    pickled = pickle.loads(pickle.dumps(info))  # noqa: S301 - our own
    for same in (pickled, copy.copy(info), info._replace()):
        assert same == info
        assert type(same) is gsym.FunctionInfo


def test_records_are_documented() -> None:
    for record in RECORDS:
        assert record.__doc__ is not None
        assert not record.__doc__.startswith(f"{record.__name__}("), (
            "not namedtuple's own"
        )


def test_text_of_an_answer_is_that_of_the_command_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "app.gsym"
    inlined = gsym.InlineInfo("_Z3onev", "/src/a.c", 7, (gsym.Range(0x1009, 0x100A),))
    with gsym.Creator() as creator:
        creator.add(
            gsym.FunctionInfo(
                *(0x1000, 0x20, "main"),
                (
                    gsym.LineEntry(0x1000, "/src/a.c", 3),
                    gsym.LineEntry(0x1009, "b.h", 0),
                ),
                gsym.InlineInfo(
                    "main", "", 0, (gsym.Range(0x1000, 0x1020),), (inlined,)
                ),
                call_sites=(gsym.CallSite(9, 1, ("on.*", "two")),),
            )
        )
        creator.save(file)
    with gsym.open(file) as reader:
        texts = [str(reader.lookup(address)) for address in (0x1000, 0x1009)]
        assert list(reader) == list(reader.functions())
    assert "one() at b.h:? [inlined]" in texts[1]
    assert main(["lookup", "--demangle", str(file), "0x1000", "0x1009"]) == 0
    assert capsys.readouterr().out.splitlines() == "\n".join(texts).splitlines()


def test_paths_are_joined_by_the_separator_of_the_directory() -> None:
    assert model.join_path("", "a.c") == "a.c"
    assert model.join_path("/src", "a.c") == "/src/a.c"
    assert model.join_path("C:\\src", "a.c") == "C:\\src\\a.c"
