"""Lookups in one Python process, for pytest-benchmark; `benchmarks.in_process` runs it.

Needs GSYM_BENCH_INPUTS: the folder of `prepare`d inputs.
"""

from __future__ import annotations

import os
from array import array
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from symbolic.symcache import SymCache

import gsym
from benchmarks.prepared import Prepared, read

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

ROUNDS = 5
SINGLE = 20_000  # addresses that are asked for one by one
INPUTS = sorted(Path(os.environ.get("GSYM_BENCH_INPUTS", "/nonexistent")).glob("*"))


@pytest.fixture(scope="module", params=INPUTS, ids=lambda path: path.name)
def prepared(request: pytest.FixtureRequest) -> Prepared:
    """Each input in turn."""
    return read(request.param)


def measure(
    benchmark: Any,
    prepared: Prepared,
    work: Callable[[], object],
    count: int,
) -> None:
    """Time *work*, which looks *count* addresses up, when all is warm."""
    benchmark.extra_info.update(input=prepared.name, count=count)
    benchmark.pedantic(work, rounds=ROUNDS, warmup_rounds=3)


def one_by_one(
    look_up: Callable[[int], object], addresses: Sequence[int]
) -> Callable[[], None]:
    """Look each address up by a call of its own."""

    def work() -> None:
        for address in addresses:
            look_up(address)

    return work


def test_lookup(benchmark: Any, prepared: Prepared) -> None:
    """`Reader.lookup`, which answers in objects."""
    with gsym.open(prepared.gsym) as reader:
        addresses = prepared.addresses("random")[:SINGLE].tolist()
        measure(benchmark, prepared, one_by_one(reader.lookup, addresses), SINGLE)


def test_symbolic(benchmark: Any, prepared: Prepared) -> None:
    """`SymCache.lookup`, which does so, too."""
    cache = SymCache.open(str(prepared.symcache))  # type: ignore[no-untyped-call]
    addresses = prepared.addresses("random", prepared.load_address)[:SINGLE].tolist()
    measure(benchmark, prepared, one_by_one(cache.lookup, addresses), SINGLE)


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("order", ["random", "ascending"])
def test_lookup_many(
    benchmark: Any,
    prepared: Prepared,
    order: str,
    threads: int,
) -> None:
    """A million addresses by `Reader.lookup_many`."""
    addresses = prepared.addresses("random")
    if order == "ascending":
        addresses = array("Q", sorted(addresses))
    with gsym.open(prepared.gsym) as reader:
        measure(
            benchmark,
            prepared,
            lambda: reader.lookup_many(addresses, threads=threads),
            len(addresses),
        )
