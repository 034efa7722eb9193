"""A model of weeks in the life of a store: what its servers may remove, and when.

Two workers serve one store. Modules are uploaded, fetched, used and kept open, the disk
fills, the server stops, and the clock jumps.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import Phase, settings
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
)
from hypothesis.strategies import booleans, integers, sampled_from

from gsym.modules.resolver import Resolver
from gsym.modules.symbolizer import Symbolizer
from gsym.server import upkeep
from gsym.server.service import Service
from gsym.store import collection
from gsym.store.directory import Store
from gsym.store.sources.settings import open_source
from gsym.store.verification import verify_store
from tests.server.running import made_settings
from tests.store_modules import key, put

if TYPE_CHECKING:
    from gsym.modules.open_module import OpenModule

pytestmark = [pytest.mark.long, pytest.mark.no_engine]

SOURCE = "https://symbols.test"
NUMBERS = integers(0, 23)
WORKERS = integers(0, 1)
HOUR, DAY = 3600, 86_400
MAX_UNUSED = 5 * HOUR
CAPACITY = 20_000
MIN_FREE = 4_000
MAX_STORE = 12_000


def size_of(folder: Path) -> int:
    """Bytes of the files of modules in a folder."""
    return sum(
        Path(root, name).lstat().st_size
        for root, _, names in os.walk(folder)
        if "module.json" in names
        for name in names
    )


class Eviction(RuleBasedStateMachine):
    """The modules of a store, those that are uploads, and their times of use."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp(prefix="gsym-eviction-"))
        self.store = Store(self.folder / "store")
        self.clock = 1.8e9
        self.served = 0.0
        self.foreign = 0  # bytes of others on the disk
        self.used: dict[int, float] = {}  # by module: the served time
        self.uploads: set[int] = set()
        self.held: list[OpenModule] = []
        self.services: list[Service] = []
        clock: Any = SimpleNamespace(
            time=lambda: self.clock,
            time_ns=lambda: int(self.clock * 1e9),
        )
        self.patch = pytest.MonkeyPatch()
        for module in (upkeep, collection):
            self.patch.setattr(module, "time", clock)
            self.patch.setattr(module, "free_bytes", lambda _path: self.free())
        self.has_failed = False

    def free(self) -> int:
        return max(0, CAPACITY - self.foreign - size_of(self.folder))

    def make_room(self) -> None:
        """No disk has more than it has room for: others have less then."""
        self.foreign = min(self.foreign, CAPACITY - size_of(self.folder))

    @initialize(has_size=booleans(), has_age=booleans())
    def start(self, *, has_size: bool, has_age: bool) -> None:
        self.max_store = MAX_STORE if has_size else 0
        self.max_unused = float(MAX_UNUSED) if has_age else 0.0
        known = made_settings(
            store=self.store.path,
            max_store=self.max_store,
            min_free=MIN_FREE,
            max_unused=self.max_unused,
        )
        for _ in range(2):
            resolver = Resolver(self.store, [open_source(SOURCE)])
            symbolizer = Symbolizer(resolver, recheck=1e9)
            self.services.append(Service(known, symbolizer))
        self.put(0, is_upload=True)
        self.tick(0)

    def put(self, number: int, *, is_upload: bool) -> None:
        if number in self.used:
            return
        source = "upload" if is_upload else f"{SOURCE}/{number}"
        put(self.store, number, source=source)
        self.make_room()
        self.used[number] = self.served
        if is_upload:
            self.uploads.add(number)
        self.mark(number)

    def mark(self, number: int) -> None:
        entry = self.store.get(key(number), is_use=False)
        assert entry is not None
        os.utime(Path(entry.folder, "module.json"), (self.clock, self.clock))
        self.used[number] = self.served

    @rule(number=NUMBERS)
    def upload(self, number: int) -> None:
        self.put(number, is_upload=True)

    @rule(number=NUMBERS, count=integers(1, 8))
    def fetch(self, number: int, count: int) -> None:
        for each in range(number, min(number + count, 24)):
            self.put(each, is_upload=False)

    @precondition(lambda self: self.used)
    @rule(worker=WORKERS, number=NUMBERS, is_held=booleans())
    def use(self, worker: int, number: int, *, is_held: bool) -> None:
        known = sorted(self.used)
        number = known[number % len(known)]
        module = self.services[worker].symbolizer.find(key(number))
        assert module is not None
        assert module.reader is not None
        assert module.reader.lookup(0x1000) is not None
        self.mark(number)
        if is_held:
            self.held.append(module)

    @rule()
    def answer(self) -> None:
        """Requests in progress can use what they have, then close it."""
        for module in self.held:
            assert module.reader is not None
            assert module.reader.lookup(0x1000) is not None
        self.held.clear()

    @rule(lacking=sampled_from([-9_000, -1, 1, 1_000, 20_000]))
    def others_fill_the_disk(self, lacking: int) -> None:
        """By a little or by far, in one of two workers after it opened all modules."""
        for number in sorted(self.used):
            self.use(0, number, is_held=True)
        self.foreign = 0
        self.foreign = max(0, self.free() - MIN_FREE + lacking)
        self.make_room()
        self.tick(0)
        self.tick(1)

    @rule(hours=integers(1, 8))
    def serve(self, hours: int) -> None:
        for number in range(2 * hours):
            self.clock += HOUR / 2
            self.served += HOUR / 2
            self.tick(number % 2)

    @rule(days=integers(1, 400))
    def stop_or_jump_ahead(self, days: int) -> None:
        self.clock += days * DAY
        self.tick(0)

    @rule(days=integers(1, 400))
    def jump_back(self, days: int) -> None:
        self.clock -= days * DAY
        self.tick(1)

    @rule(worker=WORKERS)
    def tick(self, worker: int) -> None:
        """One round of upkeep: it removes what it must, and no more."""
        free = self.free() + size_of(self.folder / "store/.evicted")
        known = {each.identity.debug_file: each for each in self.store.entries()}
        sizes = {
            number: size_of(Path(known[f"lib{number}.so"].folder))
            for number in self.used
        }
        service = self.services[worker]
        self.has_failed = True
        upkeep.look_after_store(service)
        left = {each.identity.debug_file for each in self.store.entries()}
        gone = {number for number in self.used if f"lib{number}.so" not in left}
        assert not gone & self.uploads
        assert len(gone) <= max(1, len(self.used) // 10)
        expired = {
            number
            for number in gone
            if self.max_unused and self.served - self.used[number] > self.max_unused
        }
        pushed = gone - expired
        if pushed:
            total = sum(sizes.values()) - sum(sizes[each] for each in gone)
            last = max(sizes[each] for each in pushed)
            freed = free + sum(sizes[each] for each in gone)
            is_large = 0 < self.max_store < total + last
            is_full = freed - last < MIN_FREE
            assert is_large or is_full
        for number in gone:
            del self.used[number]
        if not self.held:
            upkeep.look_after_store(self.services[1 - worker], 1.0)
            assert not Path(self.store.path, ".evicted").exists()
        self.has_failed = False

    @invariant()
    def what_is_known_is_there(self) -> None:
        if self.services:
            found = {each.identity.debug_file for each in self.store.entries()}
            assert found == {f"lib{number}.so" for number in self.used}

    def teardown(self) -> None:
        try:
            if not self.has_failed:
                self.settle()
        finally:
            self.patch.undo()
            for service in self.services:
                service.close()
                service.symbolizer.close()
            shutil.rmtree(self.folder)

    def settle(self) -> None:
        """In the end, the limits hold as far as uploads allow."""
        if not self.services:
            return
        self.answer()
        for _ in range(12):
            self.serve(2)
        fetched = self.used.keys() - self.uploads
        assert not (self.max_unused and fetched)
        if fetched:
            is_small = not self.max_store or size_of(self.folder) <= self.max_store
            assert is_small
            assert self.free() >= MIN_FREE
        assert list(verify_store(self.store)) == []


TestEviction = Eviction.TestCase
TestEviction.settings = settings(
    max_examples=8,
    stateful_step_count=25,
    deadline=None,
    phases=[Phase.explicit, Phase.generate],
)
