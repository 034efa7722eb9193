"""What becomes of damaged files, as text that is the same for each run.

    python -m tests.freeze.damaged > tests/golden/damaged.txt
    python -m tests.freeze.damaged SEED...

Each seed is read as it is, and with one byte changed or the rest cut off at many
places. The record has a line for each seed and each way to read it: how many of these
files were read, how many were refused with which exception, and a hash of the answers
and outputs of all. Reports and the messages of exceptions are not part of it, so that
they may change.

The second command prints what becomes of each file: `diff -U1` between this and what it
prints in another checkout shows which files have another end or other answers. Reports
and messages, which are not in the hash, stand in lines that begin with "#".
"""

from __future__ import annotations

import hashlib
import re
import sys
import tempfile
from collections import Counter
from itertools import chain, product
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, NamedTuple

import gsym
from gsym.fxt.decoder import Decoder
from gsym.symbfile.extraction import extract
from gsym.symbfile.format import decode
from gsym.symbfile.to_gsym import convert_symbfiles
from gsym.verification.check import check_structure
from tests.engine.test_hostile_records import DAMAGED, END_OF_LIST, file_with
from tests.fxt.traces import small_trace
from tests.hostile import ADDRESSES
from tests.strategies import BYTE_ORDERS
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


class Remark(str):
    """What is printed, but is not in the hash."""

    __slots__ = ()


class Outcome(NamedTuple):
    """What came of a file: how it was read or which exception refused it, and texts.

    A file may have answers before the exception.
    """

    damage: str
    end: str
    texts: list[str]

    def answers(self) -> str:
        """What is in the hash."""
        texts = (text for text in self.texts if not isinstance(text, Remark))
        return "\n".join((self.end, *texts))

    def __str__(self) -> str:
        """The damage and the end, then answers and remarks."""
        lines = [f"{self.damage}: {self.end}"]
        for text in self.texts:
            mark = "# " if isinstance(text, Remark) else ""
            lines += [f"    {mark}{line}" for line in text.splitlines()]
        return "\n".join(lines)


def outcomes(seed: Seed, question: Question, folder: Path) -> Iterator[Outcome]:
    """What comes of the file when it is read in one way, for each damage."""
    for path, data in seed.files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(data)
    for number, (damage, data) in enumerate(mutants(seed)):
        (folder / seed.target).write_bytes(data)
        end, texts = question.__name__, []
        try:
            for text in question(folder / seed.operand, number):
                texts.append(_plain(text, folder))  # noqa: PERF401 - kept by an error
        except (gsym.GsymError, ValueError) as error:
            end = type(error).__name__
            texts.append(_plain(Remark(error), folder))
        yield Outcome(damage, end, texts)


def _plain(text: str, folder: Path) -> str:
    """The text in ASCII, as names need not be UTF-8, without the folder."""
    bare = text.replace(str(folder), "")
    return type(text)(bare.encode("ascii", "backslashreplace").decode())


def converted(path: Path, number: int) -> Iterator[str]:
    """A hash of the file that a conversion writes."""
    output = path.with_name("output")
    output.unlink(missing_ok=True)  # a better file of the same build would be kept
    report = gsym.convert(
        *(path, output),
        threads=1 + number % 3 // 2,
        output_version=1 + number % 2,
        merged_functions=number % 4 > 1,
        call_sites=number % 4 > 1,
        identity=False,
        verbose=True,
        debug_file_directories=(),
    )
    yield hash_of(output.read_bytes())
    yield Remark(report._replace(seconds=0, peak_memory=0, notes=()))


def hash_of(data: bytes) -> str:
    """What stands for so many bytes."""
    return hashlib.sha256(data).hexdigest()[:16]


def answered(path: Path, _number: int) -> Iterator[str]:
    """All answers of a file."""
    with gsym.open(path) as reader:
        yield f"{reader.header} {reader.uuid.hex()} {reader.find('full')}"
        findings = check_structure(str(path))
        yield f"offsets of findings: {[finding.offset for finding in findings]}"
        yield Remark(findings)
        for address in ADDRESSES:
            yield from looked_up(reader, address)
        for row in reader.lookup_many(ADDRESSES).to_pylist():
            reason = row.pop("reason")
            yield str(row)
            yield Remark(reason)
        yield from map(str, reader.functions())


def looked_up(reader: gsym.Reader, address: int) -> Iterator[str]:
    """The answer for an address, or the exception."""
    try:
        yield str(reader.lookup(address, merged=True))
    except gsym.GsymError as error:
        yield f"{address:#x}: {type(error).__name__}"
        yield Remark(error)


def extracted(path: Path, _number: int) -> Iterator[str]:
    """A hash of the symbfile that an extraction writes."""
    output = path.with_name("output")
    report = extract(path, ranges=output, threads=1)
    yield hash_of(output.read_bytes())
    yield Remark(report._replace(seconds=0))


def decoded(path: Path, _number: int) -> Iterator[str]:
    """The records of a symbfile, up to damage."""
    yield from map(str, decode(path.read_bytes(), str(path)).records())


def converted_from_symbfile(path: Path, number: int) -> Iterator[str]:
    """A hash of the file that a conversion writes."""
    output = path.with_name("output")
    report = convert_symbfiles([path], output, output_version=1 + number % 2)
    yield hash_of(output.read_bytes())
    yield Remark(report)


def decoded_as_trace(path: Path, number: int) -> Iterator[str]:
    """The records of a trace, and where something is wrong with them."""
    decoder = Decoder(strict=number % 4 == 0)
    yield from map(str, decoder.records([path.read_bytes()]))
    yield f"offsets of problems: {[problem.offset for problem in decoder.problems]}"
    yield Remark(f"{decoder.problems} {decoder.counts()}")


QUESTIONS: dict[str, tuple[Question, ...]] = {
    "object": (converted,),
    "gsym": (answered, converted, extracted),
    "symbfile": (decoded, converted_from_symbfile),
    "trace": (decoded_as_trace,),
}


def damaged() -> Iterator[str]:
    """The record: a line for each seed and question."""
    for name, question, found in _of_all():
        yield f"{name}: {summary(question, list(found))}\n"


def summary(question: str, found: list[Outcome]) -> str:
    """What came of all files of a seed, in a line."""
    ends = Counter(outcome.end for outcome in found)
    read = ends.pop(question, 0)
    refused = ", ".join(f"{each} {count}" for each, count in sorted(ends.items()))
    return (
        f"{read} {question.replace('_', ' ')}, "
        + (f"{ends.total()} refused ({refused}), " if refused else "")
        + f"hash {hash_of(chr(10).join(map(Outcome.answers, found)).encode())}"
    )


def _of_all() -> Iterator[tuple[str, str, Iterator[Outcome]]]:
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary).resolve()
        for seed in seeds():
            for question in QUESTIONS[seed.door]:
                found = outcomes(seed, question, folder / seed.name)
                yield seed.name, question.__name__, found


def main() -> None:
    """Print the record, or the outcomes of the seeds that the command line names."""
    wanted = set(sys.argv[1:])
    if not wanted:
        sys.stdout.writelines(damaged())
        return
    left = set(wanted)
    for name, _, found in _of_all():
        if name in wanted:
            left.discard(name)
            for outcome in found:
                sys.stdout.write(f"{name} {outcome}\n")
    if left:
        sys.exit(f"no such seed: {' '.join(sorted(left))}")


if __name__ == "__main__":
    main()
