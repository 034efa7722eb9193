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

from gsym.api.request import RequestLimits, read_v5
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
