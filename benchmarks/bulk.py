"""Addresses of many modules in Arrow batches: rows and distinct addresses per second.

    python -m benchmarks.bulk SEGMENTS [--rows N] [--sample N] [--write FOLDER]

SEGMENTS is a folder of GSYM files, such as `gsym convert BINARY --segment-size 320000`
writes for a large C++ binary; each becomes a module of its own. The popularity of
modules and, in a module, of addresses has a Zipf distribution. With --write nothing is
measured: FOLDER gets the rows and the store, for `gsym batch`.
"""

from __future__ import annotations

import argparse
import os
import resource
import tempfile
import threading
import time
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import gsym
from gsym.arrow import Modules, symbolize
from gsym.modules.key import ModuleKey, elf_debug_id
from gsym.store.directory import Store
from gsym.store.entries import Quality

if TYPE_CHECKING:
    from collections.abc import Iterator

    Addresses = np.ndarray[Any, np.dtype[np.uint64]]

ROWS_AT_ONCE = 1 << 20
DISTINCT_SHARE = 0.05
UUID_SIZE_AT = 7  # in the header of version 1


def build_id(number: int) -> bytes:
    """The build id of a module."""
    return number.to_bytes(20, "big")


def fill_store(folder: str, segments: list[Path]) -> Modules:
    """A store with a module for each segment."""
    store = Store(folder)
    for number, path in enumerate(segments, 1):
        data = bytearray(path.read_bytes())
        data[UUID_SIZE_AT] = 0  # that of the whole binary
        with store.temporary_folder() as temporary:
            copy = Path(temporary, "module.gsym")
            copy.write_bytes(data)
            identity = ModuleKey(
                os="Linux",
                architecture="x86_64",
                debug_id=elf_debug_id(build_id(number)[4:], "big"),
                code_id="",
                debug_file=f"lib{number}.so",
            )
            store.publish(copy, identity, uuid=b"", quality=Quality(2, 1))
    return Modules(store, max_open=len(segments), memory="4GB")


def addresses_of(path: Path, count: int, draw: np.random.Generator) -> Addresses:
    """Random addresses in the functions of a file."""
    with gsym.Reader(path.read_bytes()) as reader:
        raw = reader.mapped.all_functions()
        functions = np.array(raw, np.uint64).reshape(-1, 3)
    functions = functions[functions[:, 1] > 0]
    ends = np.cumsum(functions[:, 1])
    at = draw.integers(0, int(ends[-1]), count, dtype=np.uint64)
    index = np.searchsorted(ends, at, side="right")
    found: Addresses = functions[index, 0] + at - (ends[index] - functions[index, 1])
    return found


def batches(
    pools: list[Addresses], names: pa.Array, rows: int, skew: float, seed: int = 1
) -> Iterator[pa.RecordBatch]:
    """Batches of *rows* rows in all."""
    draw = np.random.default_rng(seed)
    weights = 1 / np.arange(1, len(pools) + 1)
    weights /= weights.sum()
    for first in range(0, rows, ROWS_AT_ONCE):
        count = min(ROWS_AT_ONCE, rows - first)
        modules = draw.choice(len(pools), count, p=weights).astype(np.int32)
        addresses = np.empty(count, np.uint64)
        for number, pool in enumerate(pools):
            rows_of = np.flatnonzero(modules == number)
            place = len(pool) * draw.random(len(rows_of)) ** skew
            addresses[rows_of] = pool[place.astype(np.int64)]
        column = pa.DictionaryArray.from_arrays(pa.array(modules), names)
        yield pa.record_batch({"build_id": column, "address": addresses})


def run(
    work: list[pa.RecordBatch], modules: Modules, threads: int, output: str
) -> None:
    """Symbolize batches in several threads."""
    waiting = list(work)

    def symbolize_some() -> None:
        while waiting:
            symbolize(waiting.pop(), modules, output=output)

    running = [threading.Thread(target=symbolize_some) for _ in range(threads)]
    for thread in running:
        thread.start()
    for thread in running:
        thread.join()


def measure(
    label: str, source: Iterator[pa.RecordBatch], modules: Modules, args: Any
) -> None:
    """Print the rates of a stream of batches, whose making is not timed."""
    wall, cpu = dict.fromkeys(args.output, 0.0), dict.fromkeys(args.output, 0.0)
    rows = distinct = 0
    while work := list(islice(source, args.threads)):
        for output in args.output:
            started, used = time.perf_counter(), time.process_time()
            run(work, modules, args.threads, output)
            wall[output] += time.perf_counter() - started
            cpu[output] += time.process_time() - used
        rows += sum(batch.num_rows for batch in work)
        distinct += sum(map(distinct_of, work))
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    for output in args.output:
        print(
            f"{label} {output:7} {rows / wall[output] / 1e6:6.2f} M rows/s, "
            f"{cpu[output] / rows * 1e9:5.0f} ns of a core a row, "
            f"{distinct / cpu[output] / 1e6:5.2f} M distinct/s of a core, "
            f"{distinct / rows:.0%} distinct, peak {memory:.2f} GB",
            flush=True,
        )


def distinct_of(batch: pa.RecordBatch) -> int:
    """Number of distinct pairs of module and address, which is below 2**32."""
    numbers = batch["build_id"].indices.to_numpy().astype(np.uint64)
    keys = numbers << np.uint64(32) | batch["address"].to_numpy()
    return len(np.unique(keys))


def main() -> None:
    """Print a line for each kind of answer."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("segments", type=Path)
    parser.add_argument("--rows", type=int, default=100_000_000)
    parser.add_argument("--sample", type=int, help="only so many rows of these")
    parser.add_argument("--modules", type=int, default=200)
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--skew", type=float, default=4.0, help="1: no preference")
    parser.add_argument("--output", action="append")
    parser.add_argument("--write", type=Path, metavar="FOLDER")
    args = parser.parse_args()
    args.output = args.output or ["ids", "stack", "frames"]
    segments = sorted(args.segments.iterdir())[: args.modules]
    draw = np.random.default_rng(7)
    share = 1 / np.arange(1, len(segments) + 1)
    sizes = (args.rows * DISTINCT_SHARE * share / share.sum()).astype(int) + 1
    pools = [
        addresses_of(path, size, draw)
        for path, size in zip(segments, sizes, strict=True)
    ]
    names = pa.array([f"lib{number}.so" for number in range(1, len(segments) + 1)])
    source = batches(pools, names, args.sample or args.rows, args.skew)
    if args.write:
        fill_store(f"{args.write}/store", segments)
        first = next(source)
        with pq.ParquetWriter(args.write / "rows.parquet", first.schema) as writer:
            for batch in chain([first], source):
                writer.write_batch(batch)
        return
    with tempfile.TemporaryDirectory() as folder:
        measure("zipf", source, fill_store(folder, segments), args)


if __name__ == "__main__":
    main()
