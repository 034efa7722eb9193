"""`StoreListing`: several threads ask for the modules of a store."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from gsym.store import listing
from tests.arrow_batches import put

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import pytest

    from gsym.errors import FormatError
    from gsym.store.directory import Store
    from gsym.store.entries import Entry


class SlowStore:
    """A store whose modules are listed only when another thread may have given up."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.is_asked, self.may_answer = threading.Event(), threading.Event()

    def entries(self, damaged: Callable[[FormatError], None]) -> Iterator[Entry]:
        self.is_asked.set()
        assert self.may_answer.wait(60)
        return self._store.entries(damaged=damaged)


def test_modules_are_not_missing_while_they_are_listed_first(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(store, 0)
    (entry,) = store.entries()
    name = entry.identity.debug_file
    monkeypatch.setattr(listing, "_PATIENCE", 0.001)
    slow = SlowStore(store)
    listed = listing.StoreListing(slow)  # type: ignore[arg-type]
    found: list[list[Entry]] = []
    threads = [
        threading.Thread(target=lambda: found.append(listed.named(name)))
        for _ in range(2)
    ]
    for thread in threads:
        thread.start()
    assert slow.is_asked.wait(60)
    threads[0].join(0.05)  # long enough for the other one to lose its patience
    slow.may_answer.set()
    for thread in threads:
        thread.join()
    assert found == [[entry], [entry]]
