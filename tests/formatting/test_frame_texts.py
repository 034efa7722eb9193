"""Frames as the engine writes them for servers: JSON, whatever names are made of."""

from __future__ import annotations

import json
import tempfile
from typing import TYPE_CHECKING, Any

import pytest

pytest.importorskip("msgspec")

from hypothesis import given, strategies as st

import gsym
from gsym import Creator, FunctionInfo, InlineInfo, LineEntry, Range
from gsym.api.answer_texts import AnswerTexts, clean_text, quoted
from gsym.api.request import Job, Stack
from gsym.api.response import FrameTexts, put_stacks
from gsym.api.symbolication import ModuleWork
from gsym.engine.native import to_bytes, to_str
from gsym.engine.text_buffer import TextBuffer
from gsym.errors import GsymError, LimitError
from gsym.modules.key import ModuleKey
from gsym.modules.open_module import OpenModule
from gsym.store.entries import Entry

if TYPE_CHECKING:
    from collections.abc import Iterator

START, SIZE, STEP = 0x1000, 0x100, 0x40
ANY = 1 << 40
# Each is the name of a function, of a call within it, and of its files.
NAMES: dict[str, bytes] = {
    "controls": bytes(range(1, 0x20)) + b"\x7f",
    "quotes": b'"\\/\b\\"\\u0041',
    "no UTF-8": b"a\xff\xc3(\xed\xa0\x80\xf5z",
    "UTF-8": "\u00e9\u2028\U0001f600".encode(),
    "very long": b"n" * 70_000,
    "looks like JSON": b'","line":1}]}',
    "one byte": b"x",
}


def work_of(name: str, offsets: list[int], code_file: str = "") -> ModuleWork:
    """A module with a function that has a call in it, asked at offsets from 0."""
    inner = InlineInfo(name, name, 7, (Range(START + STEP, START + 2 * STEP),))
    function = FunctionInfo(
        START,
        SIZE,
        name,
        line_table=(
            LineEntry(START, name, 3),
            LineEntry(START + STEP, name, 5),
            LineEntry(START + 2 * STEP, "", 9),
        ),
        inline=InlineInfo(name, "", 0, (Range(START, START + SIZE),), (inner,)),
    )
    with tempfile.NamedTemporaryFile(suffix=".gsym") as file:
        with Creator(base_address=0) as creator:
            creator.add(function)
            creator.save(file.name)
        reader = gsym.open(file.name)
    identity = ModuleKey(debug_id="A" * 33, code_file=code_file)
    work = ModuleWork("a.pdb", "A" * 33)
    work.module = OpenModule(Entry("a.gsym", identity), reader)
    for offset in offsets:
        work.add(offset)
    return work


def written(
    work: ModuleWork, answer_texts: AnswerTexts | None = None
) -> list[dict[str, Any]]:
    """All its frames as one stack, read as JSON."""
    texts = FrameTexts(work, answer_texts or AnswerTexts(), ANY)
    count = len(work.offsets)
    job = Job([("a.pdb", "A" * 33)], [Stack([0] * count, [*work.offsets])])
    text = TextBuffer()
    put_stacks(text, job, [texts, texts])
    whole = text.take()
    assert len(whole) <= texts.size + len("[]")
    return list(json.loads(whole))


def shown(text: str) -> str:
    return to_bytes(text).decode("utf-8", "replace")


def expected(work: ModuleWork) -> Iterator[dict[str, Any]]:
    """The same by lookups one by one, and Python's own JSON."""
    assert work.module is not None
    for number, offset in enumerate(work.offsets):
        frame = {"frame": number, "module": clean_text(work.shown_name)}
        if number in work.unknown:
            yield {**frame, "module_offset": "-0x1"}
            continue
        frame["module_offset"] = hex(offset)
        found = work.module.open_reader().lookup(offset)
        calls = [
            {
                "function": shown(each.name),
                **({"file": shown(each.path)} if each.path else {}),
                **({"line": each.line} if each.path and each.line else {}),
            }
            for each in (found.frames if found else ())
        ]
        if found:
            frame |= calls[-1]
            frame["function_offset"] = hex(found.frames[-1].offset)
            frame["function_size"] = hex(found.function.size)
            if calls[:-1]:
                frame["inlines"] = calls[:-1]
        yield frame


OFFSETS = [START, START + STEP, -1, START + 2 * STEP, START + SIZE, 0, (1 << 64) - 1]


@pytest.mark.parametrize("name", NAMES.values(), ids=NAMES)
def test_names_of_any_bytes_become_json(name: bytes) -> None:
    work = work_of(to_str(name), OFFSETS)
    frames = written(work)
    assert frames == list(expected(work))
    assert frames[1]["function"] == name.decode("utf-8", "replace")
    assert "inlines" in frames[1]


@given(
    st.binary(min_size=1, max_size=40).filter(lambda name: b"\0" not in name),
    st.lists(st.sampled_from([-1, *range(0xF00, 0x1200, 0x20)]), max_size=12),
)
def test_frames_are_those_of_lookups(name: bytes, offsets: list[int]) -> None:
    work = work_of(to_str(name), offsets)
    assert written(work) == list(expected(work))


@pytest.mark.parametrize(
    "code_file", [chr(0xD800), "\udcff.dll", "a\0b", '"', "\u00fc"]
)
def test_a_module_of_any_name_is_json(code_file: str) -> None:
    work = work_of("f", OFFSETS, code_file)
    names = {frame["module"] for frame in written(work)}
    assert names == {clean_text(code_file)}


@pytest.mark.slow
@given(st.text())
def test_quoted_text_is_json_of_the_same_text(text: str) -> None:
    assert json.loads(quoted(text)) == clean_text(text)
    if text.isprintable():
        assert clean_text(text) == text


def test_a_missing_module_has_frames_without_names() -> None:
    work = ModuleWork("a.pdb", "A" * 33)
    for offset in (0, -1, 5):
        work.add(offset)
    assert [frame["module_offset"] for frame in written(work)] == ["0x0", "-0x1", "0x5"]
    assert {len(frame) for frame in written(work)} == {3}


def test_the_size_of_frames_is_limited() -> None:
    work = work_of("name", [START + STEP] * 9)
    size = FrameTexts(work, AnswerTexts(), ANY).size
    assert FrameTexts(work, AnswerTexts(), size).size == size
    with pytest.raises(LimitError):
        FrameTexts(work, AnswerTexts(), size - 1)


def test_the_limit_is_nearly_exact() -> None:
    work = work_of("name", [START + STEP] * 1000)
    size = FrameTexts(work, AnswerTexts(), ANY).size
    text = json.dumps(written(work), separators=(",", ":"))
    assert size <= 1.3 * len(text)


def test_a_long_name_is_refused_before_it_is_written() -> None:
    with pytest.raises(LimitError):
        FrameTexts(work_of("n" * 5000, [START]), AnswerTexts(), 4999)


def test_stacks_of_other_frames_are_refused() -> None:
    work = work_of("f", [START])
    texts = FrameTexts(work, AnswerTexts(), ANY)
    for modules in ([0, 0], [5], [-1, -1]):
        job = Job([], [Stack(modules, [0] * len(modules))])
        with pytest.raises((GsymError, ValueError)):
            put_stacks(TextBuffer(), job, [texts])
