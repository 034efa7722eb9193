"""What becomes of damaged files, as text that is the same for each run.

    python -m tests.freeze.damaged > tests/golden/damaged.txt
    python -m tests.freeze.damaged SEED...

Each seed is read as it is, and with one byte changed or the rest cut off at many
places. The record has a line for each: a hash of what came of it, outputs or reasons.
The second command prints what is hashed, to be compared with that of another checkout.
"""

from __future__ import annotations

import hashlib
import re
import sys
import tempfile
from itertools import chain, product
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

import gsym
from gsym.symbfile.extraction import extract
from gsym.symbfile.format import decode
from gsym.symbfile.to_gsym import convert_symbfiles
from gsym.trace.fxt.decoder import Decoder
from gsym.verification.check import check_structure
from tests.engine.test_hostile_records import DAMAGED, END_OF_LIST, file_with
from tests.hostile import ADDRESSES
from tests.strategies import BYTE_ORDERS
from tests.trace.traces import small_trace
from tools.fuzz_seeds import images, pdb_files, symbol_files, traces
from tools.mutate.seeds import Seed, objects, single, symbfiles, with_companions

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    Question = Callable[[Path, int], Iterator[str]]

MUTANTS = 64  # of a seed, at most
_CUT = 8  # one of so many is cut off
_RANDOM = 16  # of the random programs
# Other libraries compress these, and may do so in other ways.
_COMPRESSED = re.compile("zlib|zstd|gnu|bomb|debugdata")
_BYTES = re.compile(rb"[^\0]\0{0,3}")  # not padding
# Where other files were searched for depends on the machine.
_SEARCHED = re.compile("; no debug information: .*")


def seeds() -> Iterator[Seed]:
    """Files whose bytes are the same on every machine."""
    programs = chain(objects(), pdb_files(), symbol_files())
    plain = chain(
        (single(name, "object", data) for name, data in programs),
        with_companions(),
        (single(f"gsym-{name}", "gsym", data) for name, data in images()),
        (single(f"record-{name}", "gsym", data) for name, data in records()),
        (single(name, "symbfile", data) for name, data in symbfiles()),
        (single(f"fxt-{name}", "trace", data) for name, data in traces()),
        (single(f"fxt-{order}", "trace", small_trace(order)) for order in BYTE_ORDERS),
    )
    for seed in plain:
        number = re.fullmatch(r"elf-random-(\d+)", seed.name)
        is_left_out = number is not None and int(number[1]) >= _RANDOM
        if not is_left_out and not _COMPRESSED.search(seed.name):
            yield seed


def records() -> Iterator[tuple[str, bytes]]:
    """GSYM files with a damaged record."""
    for version, (name, body) in product((1, 2), DAMAGED.items()):
        yield f"{name}-{version}", file_with(version, body + END_OF_LIST)


def mutants(seed: Seed) -> Iterator[tuple[str, bytes]]:
    """The file as it is, then with one kind of damage each; what was done to it."""
    yield "whole", seed.data
    choice = Random(seed.name)  # noqa: S311 - no secret
    spans = [found.span() for found in _BYTES.finditer(seed.data)]
    for number, span in enumerate(choice.sample(spans, min(len(spans), MUTANTS))):
        at = choice.randrange(*span)
        old = seed.data[at]
        new = choice.choice([old ^ 0x01, old ^ 0x80, old ^ 0xFF, (old + 1) & 0xFF])
        if number % _CUT:
            damaged = seed.data[:at] + bytes([new]) + seed.data[at + 1 :]
            yield f"{at:#x}: {old:#04x} -> {new:#04x}", damaged
        else:
            yield f"{at:#x}: end", seed.data[:at]


def outcomes(seed: Seed, folder: Path) -> Iterator[tuple[str, str]]:
    """What was done to the file, and what came of it."""
    for path, data in seed.files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(data)
    for number, (damage, data) in enumerate(mutants(seed)):
        (folder / seed.target).write_bytes(data)
        operand = folder / seed.operand
        answers = [
            answer
            for question in QUESTIONS[seed.door]
            for answer in answers_of(question(operand, number))
        ]
        text = _SEARCHED.sub("", "\n".join(answers).replace(str(folder), ""))
        # Names need not be UTF-8.
        yield damage, text.encode("ascii", "backslashreplace").decode()


def answers_of(question: Iterator[str]) -> Iterator[str]:
    """The answers, and the error that ends them if there is one."""
    try:
        yield from question
    except (gsym.GsymError, ValueError) as error:
        yield f"{type(error).__name__}: {error}"


def converted(path: Path, number: int) -> Iterator[str]:
    """The report of a conversion and a hash of the file."""
    output = path.with_name("output")
    report = gsym.convert(
        *(path, output),
        threads=1 + number % 3 // 2,
        output_version=1 + number % 2,
        merged_functions=number % 4 > 1,
        call_sites=number % 4 > 1,
        verbose=True,
        debug_file_directories=(),
    )
    yield str(report._replace(seconds=0, peak_memory=0, notes=()))
    yield hash_of(output.read_bytes())


def hash_of(data: bytes) -> str:
    """What stands for so many bytes."""
    return hashlib.sha256(data).hexdigest()[:16]


def answered(path: Path, _number: int) -> Iterator[str]:
    """All answers of a file."""
    with gsym.open(path) as reader:
        yield f"{reader.header} {reader.uuid.hex()} {reader.find('full')}"
        yield str(check_structure(str(path)))
        for address in ADDRESSES:
            yield from answers_of(looked_up(reader, address))
        yield str(reader.lookup_many(ADDRESSES).to_pylist())
        yield from map(str, reader.functions())


def looked_up(reader: gsym.Reader, address: int) -> Iterator[str]:
    """The answer for an address."""
    yield str(reader.lookup(address, merged=True))


def extracted(path: Path, _number: int) -> Iterator[str]:
    """The report of an extraction and a hash of the symbfile."""
    output = path.with_name("output")
    report = extract(path, ranges=output, threads=1)
    yield str(report._replace(seconds=0))
    yield hash_of(output.read_bytes())


def records_of_symbfile(path: Path, _number: int) -> Iterator[str]:
    """The records, up to damage."""
    yield from map(str, decode(path.read_bytes(), str(path)).records())


def converted_symbfile(path: Path, number: int) -> Iterator[str]:
    """The report of a conversion and a hash of the file."""
    output = path.with_name("output")
    yield str(convert_symbfiles([path], output, output_version=1 + number % 2))
    yield hash_of(output.read_bytes())


def records_of_trace(path: Path, number: int) -> Iterator[str]:
    """The records, and what is wrong with them."""
    decoder = Decoder(strict=number % 4 == 0)
    yield from map(str, decoder.records([path.read_bytes()]))
    yield f"{decoder.problems} {decoder.counts()}"


QUESTIONS: dict[str, tuple[Question, ...]] = {
    "object": (converted,),
    "gsym": (answered, converted, extracted),
    "symbfile": (records_of_symbfile, converted_symbfile),
    "trace": (records_of_trace,),
}


def damaged() -> Iterator[str]:
    """The record: a line for each seed."""
    for name, found in _of_all():
        text = "".join(f"{outcome}\n" for _, outcome in found)
        yield f"{name} {hash_of(text.encode())}\n"


def _of_all() -> Iterator[tuple[str, Iterator[tuple[str, str]]]]:
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary).resolve()
        for seed in seeds():
            yield seed.name, outcomes(seed, folder / seed.name)


def main() -> None:
    """Print the record, or the outcomes of the seeds that the command line names."""
    wanted = set(sys.argv[1:])
    if not wanted:
        sys.stdout.writelines(damaged())
        return
    for name, found in _of_all():
        if name in wanted:
            wanted.remove(name)
            for damage, outcome in found:
                sys.stdout.write(f"{name} {damage}\n{outcome}\n\n")
    if wanted:
        sys.exit(f"no such seed: {' '.join(sorted(wanted))}")


if __name__ == "__main__":
    main()
