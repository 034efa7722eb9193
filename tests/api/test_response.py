"""Bodies of responses to the Mozilla API: what they may have at most."""

from __future__ import annotations

import json
from bisect import bisect_left
from typing import TYPE_CHECKING

import pytest

from gsym.errors import LimitError
from gsym.modules.symbolizer import Symbolizer
from tests.store_modules import identity, put

if TYPE_CHECKING:
    from collections.abc import Callable

    from gsym.store.directory import Store

pytest.importorskip("msgspec")

from gsym.api.request import RequestError, RequestLimits, read_v4, read_v5
from gsym.api.response import answer_v4, answer_v5
from gsym.api.symbolication import Symbolication


def least(store: Store, answer: Callable[..., object], *numbers: int) -> int:
    """The smallest limit with which frames in these modules are answered."""
    modules = [identity(number) for number in numbers]
    job = {
        "memoryMap": [[each.debug_file, each.debug_id] for each in modules],
        "stacks": [[[index, 8] for index in range(len(modules))]],
    }
    work = Symbolication(read_v5(json.dumps({"jobs": [job]}).encode(), RequestLimits()))
    work.open_all(Symbolizer(store))

    def is_answered(most: int) -> bool:
        try:
            answer(work, most=most)
        except LimitError as error:
            assert str(error) == "response too large"  # noqa: PT017
            return False
        return True

    return bisect_left(range(1 << 16), x=True, key=is_answered)


@pytest.mark.parametrize("answer", [answer_v4, answer_v5])
def test_the_limit_is_for_the_frames_of_all_modules_together(
    store: Store, answer: Callable[..., object]
) -> None:
    put(store, 1)
    put(store, 2)
    one, other = (least(store, answer, number) for number in (1, 2))
    assert 0 < one == other < least(store, answer, 1, 2)


def test_frames_may_name_a_function_and_an_offset(store: Store) -> None:
    key = identity(1)
    put(store, 1)
    texts = ["f1_1+0x4", ".text.f1_1+5", "f1_1+0x10", "none+0x1", "f1_1+1"]
    job = {
        "memoryMap": [[key.debug_file, key.debug_id]],
        "stacks": [[*([0, text] for text in texts), [0, 8], [-1, "f1_1+1"]]],
        "returnAddresses": "callers",
    }
    body = json.dumps({"jobs": [job]}).encode()
    work = Symbolication(read_v5(body, RequestLimits()))
    work.open_all(Symbolizer(store))
    (frames,) = json.loads(bytes(answer_v5(work)))["results"][0]["stacks"]
    named = [(each.get("function"), each.get("function_offset")) for each in frames]
    assert named == [
        *(("f1_1", "0x4"), ("f1_1", "0x4"), ("f1_1", "0xf"), (None, None)),
        *(("f1_1", "0x0"), ("f1_1", "0x7"), (None, None)),
    ]
    assert [frames[at]["module_offset"] for at in (3, 6)] == ["-0x1", "-0x1"]


def test_a_return_to_the_first_byte_of_a_module_has_no_call(store: Store) -> None:
    key = identity(1)
    put(store, 1)
    job = {
        "memoryMap": [[key.debug_file, key.debug_id]],
        "stacks": [[[0, "f1_1+0"], [0, ".text." * 600 + "f1_1+1"]]],
        "returnAddresses": "all",
    }
    work = Symbolication(read_v5(json.dumps({"jobs": [job]}).encode(), RequestLimits()))
    work.open_all(Symbolizer(store))
    (frames,) = json.loads(bytes(answer_v5(work)))["results"][0]["stacks"]
    assert [each.get("function") for each in frames] == [None, None]


@pytest.mark.parametrize("text", ["main", "0x10", "", "+1", "a" * 4096 + "+1"])
def test_other_texts_are_no_offsets(text: str) -> None:
    job = {"memoryMap": [["a", "0"]], "stacks": [[[0, text]]]}
    with pytest.raises(RequestError, match="invalid module_offset"):
        read_v5(json.dumps({"jobs": [job]}).encode(), RequestLimits())


def test_version_4_has_numbers_alone() -> None:
    job = {"memoryMap": [["a", "0"]], "stacks": [[[0, "main+1"]]]}
    with pytest.raises(RequestError, match="invalid module_offset"):
        read_v4(json.dumps(job).encode(), RequestLimits())
