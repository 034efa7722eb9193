"""The records: what they hold by default, and what `help` says of them."""

from __future__ import annotations

import copy
import pickle

import pytest

import gsym
from gsym import model
from gsym.conversion import report as conversion_report

RECORDS = (
    *(gsym.LineEntry, gsym.Range, gsym.InlineInfo, gsym.CallSite, gsym.FunctionRange),
    *(gsym.FunctionInfo, gsym.Frame, gsym.Lookup, gsym.Header),
    *(conversion_report.ConversionReport, conversion_report.ConversionWarning),
)


def test_every_function_has_an_extra_of_its_own() -> None:
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


@pytest.mark.parametrize("record", RECORDS, ids=lambda record: record.__name__)
def test_every_record_says_what_it_is(record: type) -> None:
    assert record.__doc__ is not None
    assert not record.__doc__.startswith(f"{record.__name__}("), "not namedtuple's own"


def test_paths_are_joined_by_the_separator_of_the_directory() -> None:
    assert model.join_path("", "a.c") == "a.c"
    assert model.join_path("/src", "a.c") == "/src/a.c"
    assert model.join_path("C:\\src", "a.c") == "C:\\src\\a.c"
