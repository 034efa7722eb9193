"""Return pads: the chain of functions at each call, in front of what it returns to."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import gsym
from gsym import return_pads
from gsym.calls import recall_calls
from gsym.formats.symbfile import Decoder, Encoder, ReturnPad, ReturnPadEntry
from gsym.return_pads import add_return_pads, iter_return_pads
from tests import machine_code
from tests.creations import create
from tests.machine_code import START

if TYPE_CHECKING:
    from gsym.calls import Calls

NOP, CALL, RETURN = b"\x90", bytes.fromhex("e8 00 00 00 00"), b"\xc3"
CODE = NOP + CALL + NOP + CALL + CALL + RETURN
MIDDLE, INNER = (START + 7, START + 17), (START + 12, START + 17)


def chain() -> gsym.FunctionInfo:
    """`main` calls at line 11; `middle`, inlined at 20, at 21; `inner` in it at 31."""
    inner = gsym.InlineInfo("inner", "/m.c", 22, (gsym.Range(*INNER),), ())
    middle = gsym.InlineInfo("middle", "/a.c", 20, (gsym.Range(*MIDDLE),), (inner,))
    whole = gsym.Range(START, START + len(CODE))
    rows = (
        gsym.LineEntry(START, "/a.c", 10),
        gsym.LineEntry(START + 1, "/a.c", 11),
        gsym.LineEntry(START + 6, "/a.c", 12),
        gsym.LineEntry(MIDDLE[0], "/m.c", 21),
        gsym.LineEntry(INNER[0], "/i.h", 31),
        gsym.LineEntry(INNER[1], "/a.c", 40),
    )
    return gsym.FunctionInfo(
        *(START, len(CODE), "main", rows),
        gsym.InlineInfo("main", "", 0, (whole,), (middle,)),
    )


def pad(offset: int, *entries: tuple[str, str, int]) -> ReturnPad:
    levels = tuple(ReturnPadEntry(*entry) for entry in entries)
    return ReturnPad(START + offset, levels)


PADS = [
    pad(5, ("main", "/a.c", 11)),
    pad(11, ("main", "/a.c", 20), ("middle", "/m.c", 21)),
    pad(16, ("main", "/a.c", 20), ("middle", "/m.c", 22), ("inner", "/i.h", 31)),
]


def written(reader: gsym.Reader, calls: Calls, **options: object) -> list[ReturnPad]:
    """What a symbfile of the return pads holds."""
    encoder = Encoder()
    blocks = []
    added = 0
    for count in add_return_pads(encoder, reader, calls, **options):  # type: ignore[arg-type]
        added += count
        blocks.append(encoder.take()[0])
    encoder.finish()
    blocks.append(encoder.take()[0])
    records = list(Decoder(blocks).records())
    assert len(records) == added
    return records  # type: ignore[return-value]


def both(reader: gsym.Reader, calls: Calls) -> list[ReturnPad]:
    """Return pads as records, which are those that are written."""
    pads = list(iter_return_pads(reader, calls))
    assert written(reader, calls) == pads
    return pads


def test_a_pad_has_the_chain_at_its_call_outermost_first() -> None:
    with gsym.Reader(create([chain()])) as reader:
        assert both(reader, machine_code.find_calls(reader, {START: CODE})) == PADS


def test_pads_of_call_sites_are_those_of_the_same_calls() -> None:
    sites = tuple(gsym.CallSite(at, 0, ()) for at in (12, 6, 17))
    function = chain()._replace(call_sites=sites)
    with gsym.Reader(create([function])) as reader:
        assert both(reader, recall_calls(reader)) == PADS


def test_a_function_without_lines_has_pads_without_files() -> None:
    with gsym.Reader(create([gsym.FunctionInfo(START, len(CODE), "main")])) as reader:
        pads = both(reader, machine_code.find_calls(reader, {START: CODE}))
    assert pads == [pad(at, ("main", "", 0)) for at in (5, 11, 16)]


def test_the_exit_of_goroutines_has_a_pad_without_a_line() -> None:
    rows = (gsym.LineEntry(START, "/asm.s", 7),)
    exit_of_all = gsym.FunctionInfo(START, 7, "runtime.goexit", rows)
    with gsym.Reader(create([exit_of_all])) as reader:
        pads = both(reader, machine_code.find_calls(reader, {START: CODE}))
    assert pads == [
        pad(0, ("runtime.goexit", "/asm.s", 0)),
        pad(5, ("runtime.goexit", "/asm.s", 7)),
    ]


def test_names_are_written_as_they_are_wanted() -> None:
    with gsym.Reader(create([chain()])) as reader:
        calls = machine_code.find_calls(reader, {START: CODE})
        expected = [
            pad._replace(
                entries=tuple(e._replace(func=e.func.upper()) for e in pad.entries)
            )
            for pad in PADS
        ]
        assert list(iter_return_pads(reader, calls, str.upper)) == expected
        assert written(reader, calls, name_text=str.upper) == expected


def test_pads_are_the_same_whatever_is_looked_up_together(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    functions = [
        gsym.FunctionInfo(START + len(CODE) * at, len(CODE), f"f{at}")
        for at in range(20)
    ]
    with gsym.Reader(create(functions)) as reader:
        calls = machine_code.find_calls(reader, {START: CODE * 20})
        expected = both(reader, calls)
        assert len(expected) == 60
        for size in (1, 2, 59, 60, 61):
            monkeypatch.setattr(return_pads, "_BLOCK", size)
            assert both(reader, calls) == expected


def test_a_program_without_calls_has_no_pads() -> None:
    with gsym.Reader(create([chain()])) as reader:
        assert both(reader, machine_code.find_calls(reader, {START: RETURN})) == []


def test_a_closed_reader_has_no_pads() -> None:
    with gsym.Reader(create([chain()])) as reader:
        calls = machine_code.find_calls(reader, {START: CODE})
    with pytest.raises(gsym.ClosedError):
        list(iter_return_pads(reader, calls))
    with pytest.raises(gsym.ClosedError):
        list(add_return_pads(Encoder(), reader, calls))
