"""What is kept of open modules stays within one budget, and answers stay right."""

from __future__ import annotations

import gc
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest

pytest.importorskip("msgspec")

from gsym.api.answer_texts import AnswerTexts, CacheBudget
from gsym.api.response import FrameTexts
from tests.formatting.test_frame_texts import ANY, START, expected, work_of, written

if TYPE_CHECKING:
    from gsym.api.symbolication import ModuleWork
    from gsym.modules.open_module import OpenModule

PIECE = 1000


class Kept:
    """Something that is kept."""

    def __init__(self) -> None:
        self.kept_size = self.last_used = 0
        self.is_there = True

    def drop(self) -> None:
        self.is_there = False


def module_of(work: ModuleWork) -> OpenModule:
    assert work.module is not None
    return work.module


@pytest.mark.parametrize(
    ("sizes", "left"), [((4, 6), 2), ((4, 7), 1), ((11,), 0)], ids=repr
)
def test_cache_keeps_its_budget(sizes: tuple[int, ...], left: int) -> None:
    memory = CacheBudget(10)
    kept = [Kept() for _ in sizes]
    for each, size in zip(kept, sizes, strict=True):
        memory.use(each)
        memory.take(each, size)
    assert sum(each.is_there for each in kept) == left
    assert memory.size == sum(sizes[len(sizes) - left :])


def test_least_recently_used_entry_is_evicted_first() -> None:
    memory = CacheBudget(10)
    first, second, third = (Kept() for _ in range(3))
    for each in (first, second, first, third):
        memory.use(each)
        memory.take(each, 3)
    assert (first.is_there, second.is_there, third.is_there) == (True, False, True)
    assert memory.size == 9


def test_released_entries_free_their_room() -> None:
    memory = CacheBudget(10)
    first, second = Kept(), Kept()
    memory.use(first)
    memory.take(first, 6)
    memory.use(second)
    memory.take(second, 3)
    del second
    gc.collect()
    memory.take(first, 4)
    assert first.is_there
    assert memory.size == 10


def test_the_texts_of_many_modules_stay_within_the_budget() -> None:
    memory = CacheBudget(3 * PIECE)
    texts = AnswerTexts(None, memory)
    works = [work_of(f"{number}" * (PIECE // 4), [START]) for number in range(10)]
    for work in works:
        FrameTexts(work, texts, ANY)
        assert 0 < memory.size <= 3 * PIECE
    assert texts.of(module_of(works[-1])).kept_size
    assert not texts.of(module_of(works[0])).kept_size


@pytest.mark.parametrize("most", [0, PIECE, ANY])
def test_answers_are_right_with_any_budget(most: int) -> None:
    memory = CacheBudget(most)
    texts = AnswerTexts(None, memory)
    for _ in range(2):
        for name in ("short", "x" * PIECE):
            work = work_of(name, [START, START + 0x40, -1])
            assert written(work, texts) == list(expected(work))
    assert memory.size <= most


def test_the_texts_of_a_module_go_with_it() -> None:
    memory = CacheBudget(ANY)
    work = work_of("name", [START])
    texts = AnswerTexts(None, memory)
    FrameTexts(work, texts, ANY)
    assert memory.size
    work.module = None
    assert not memory.size


def test_other_rules_for_paths_make_other_texts() -> None:
    work = work_of("a", [START])
    first, second = AnswerTexts(), AnswerTexts(lambda path: f"/mapped/{path}")
    module = module_of(work)
    assert first.of(module).files([1]) == [b',"file":"a"']
    assert second.of(module).files([1]) == [b',"file":"/mapped/a"']


def test_threads_share_a_budget() -> None:
    memory = CacheBudget(PIECE)
    texts = AnswerTexts(None, memory)
    works = [work_of(f"{number}" * (PIECE // 4), [START]) for number in range(8)]
    asked = works * 8
    with ThreadPoolExecutor(8) as threads:
        found = threads.map(lambda work: texts.of(module_of(work)).names([1]), asked)
        wanted = [b'"%b"' % (b"%d" % (at % 8) * (PIECE // 4)) for at in range(64)]
        assert [name for (name,) in found] == wanted
    assert memory.size <= PIECE


def test_the_functions_of_modules_are_kept_in_the_budget_too() -> None:
    works = [work_of("name", []) for _ in range(3)]
    first, second, third = (module_of(work) for work in works)
    memory = CacheBudget(100)
    texts = AnswerTexts(None, memory)
    contents = [texts.of(module).functions for module in (first, second)]
    assert texts.of(first).functions is contents[0]
    assert memory.size == 96
    assert texts.of(third).functions is not None
    assert texts.of(first).functions is contents[0]
    assert texts.of(second).functions is not contents[1]
