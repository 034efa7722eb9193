"""Run the peers and read what they print: llvm-gsymutil and llvm-symbolizer.

An answer of gsymutil is kept as the text of one address; two texts that are
equal need no parsing. Frames are innermost first, as every tool prints them.
"""

from __future__ import annotations

import functools
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from tests import symbolizer_runs

if TYPE_CHECKING:
    from collections.abc import Sequence

LLVM_GSYMUTIL = "llvm-gsymutil-22"
LLVM_OBJDUMP = "llvm-objdump-22"
LLVM_SYMBOLIZER = symbolizer_runs.LLVM_SYMBOLIZER
OUR_GSYMUTIL = (
    sys.executable,
    "-c",
    "import sys; from gsym.cli.dropins.gsymutil import main; sys.exit(main())",
)


PEER_ENVIRONMENT = {k: v for k, v in os.environ.items() if k != "LD_PRELOAD"}


class Frame(NamedTuple):
    """One frame; *path* is "" where none is known, *offset* -1 where none is told."""

    name: str
    path: str
    line: int
    offset: int = -1


def run(*command: str, stdin: str = "", folder: Path | None = None) -> str:
    """What *command* prints. Only ours runs under the sanitizer of this process."""
    is_ours = command[0] == sys.executable
    done = subprocess.run(
        command,
        input=stdin,
        capture_output=True,
        text=True,
        errors="surrogateescape",
        env=os.environ if is_ours else PEER_ENVIRONMENT,
        cwd=folder,
        check=True,
    )
    return done.stdout


def missing_tools(*names: str) -> list[str]:
    """Those of *names* that are not installed."""
    return [name for name in names if shutil.which(name) is None]


@functools.cache
def zig() -> str:
    """The compiler zig: of the package ziglang, of the system, or ""."""
    package = importlib.util.find_spec("ziglang")
    if package is not None and package.origin is not None:
        return str(Path(package.origin).with_name("zig"))
    return shutil.which("zig") or ""


def llvm_convert(binary: Path, output: Path) -> None:
    """Convert with llvm-gsymutil on one thread."""
    files = (f"--convert={binary}", f"--out-file={output}")
    run(LLVM_GSYMUTIL, "--num-threads=1", *files)


def gsymutil_answers(
    command: Sequence[str], gsym: Path, addresses: Sequence[int]
) -> list[str]:
    """The answers of a gsymutil to *addresses*, each without its leading address."""
    query = "".join(f"0x{address:x} {gsym}\n" for address in addresses)
    printed = run(*command, "--addresses-from-stdin", stdin=query)
    texts = printed.split("\n\n")
    if texts.pop() or len(texts) != len(addresses):
        raise ValueError(f"{len(addresses)} addresses, {len(texts)} answers: {command}")
    answers = []
    for address, text in zip(addresses, texts, strict=True):
        head, _, rest = text.partition(": ")
        if int(head, 16) != address:
            raise ValueError(f"answer to {head} where 0x{address:x} was asked")
        answers.append(rest)
    return answers


def decompressed(binary: Path, folder: Path) -> Path:
    """*binary*, or a copy whose .zdebug sections LLVM can read too."""
    if ".zdebug_" not in run("readelf", "--section-headers", "--wide", str(binary)):
        return binary
    copy = folder / "decompressed"
    run("objcopy", "--decompress-debug-sections", str(binary), str(copy))
    return copy


_FRAME = re.compile(
    r"(?P<name>.*?)(?: \+ (?P<offset>\d+))?(?: @ (?P<path>.*):(?P<line>\d+))?"
    r"(?: \[inlined\])?",
    re.DOTALL,
)
_NEXT_FRAME = "\n" + " " * 20


def parse_frames(answer: str) -> tuple[Frame, ...]:
    """The frames of one answer of gsymutil; none where it is an error."""
    if answer.startswith("error: "):
        return ()
    frames = []
    for text in answer.split(_NEXT_FRAME):
        match = _FRAME.fullmatch(text)
        if match is None:
            raise ValueError(f"not a frame: {text!r}")
        frames.append(
            Frame(
                match["name"],
                match["path"] or "",
                int(match["line"] or 0),
                int(match["offset"] or 0),
            )
        )
    return tuple(frames)


def symbolizer_answers(
    binary: Path,
    addresses: Sequence[int],
    *options: str,
    reads_gsym: bool = False,
) -> list[tuple[Frame, ...]]:
    """The frames llvm-symbolizer gives; none for an address it knows nothing of."""
    done = symbolizer_runs.run_llvm(
        f"--obj={binary}",
        "--inlines",
        "--no-demangle",
        "--output-style=JSON",
        *options,
        lines="".join(f"0x{address:x}\n" for address in addresses),
        reads_gsym=reads_gsym,
    )
    lines = done.out.splitlines()
    if len(lines) != len(addresses):
        raise ValueError(f"{len(addresses)} addresses, {len(lines)} answers")
    return [_symbolizer_frames(json.loads(line)) for line in lines]


def _symbolizer_frames(answer: dict[str, list[dict[str, str]]]) -> tuple[Frame, ...]:
    frames = tuple(
        Frame(
            symbol["FunctionName"],
            symbol["FileName"],
            int(symbol["Line"]),
        )
        for symbol in answer.get("Symbol", [])
    )
    return tuple(frame for frame in frames if frame.name or frame.path)


_DISCRIMINATOR = re.compile(r" \(discriminator \d+\)")
_ASKED = re.compile(r"^0x[0-9a-f]{8,16}(?:\n|: )", re.MULTILINE)


def addr2line_answers(
    binary: Path, addresses: Sequence[int]
) -> list[tuple[Frame, ...]]:
    """The frames GNU addr2line gives; none for an address it knows nothing of."""
    query = "".join(f"{address:x}\n" for address in addresses)
    printed = run("addr2line", "-afi", f"--exe={binary}", stdin=query)
    answers = addr2line_texts(printed)
    if len(answers) != len(addresses):
        raise ValueError(f"{len(addresses)} addresses, {len(answers)} answers")
    return [addr2line_frames(answer) for answer in answers]


def addr2line_texts(printed: str) -> list[str]:
    """The answers that `-a` makes, without their addresses."""
    return _ASKED.split(without_discriminators(printed))[1:]


def without_discriminators(printed: str) -> str:
    """What addr2line prints without those; GSYM files do not have them."""
    return _DISCRIMINATOR.sub("", printed)


def addr2line_frames(answer: str) -> tuple[Frame, ...]:
    """The frames of one answer of `-f`."""
    lines = answer.splitlines()
    frames = []
    for name, place in zip(lines[::2], lines[1::2], strict=True):
        path, _, line = place.rpartition(":")
        number = int(line) if line.isdigit() else 0
        frames.append(Frame(_known(name), _known(path), number))
    return tuple(frame for frame in frames if frame.name or frame.path)


_INLINED = re.compile(r" inlined at .*")
_COLUMN = re.compile(r"(:\d+):\d+$", re.MULTILINE)


def eu_addr2line_answers(
    binary: Path, addresses: Sequence[int]
) -> list[tuple[Frame, ...]]:
    """The frames that elfutils gives; none for an address it knows nothing of."""
    query = "".join(f"{address:#x}\n" for address in addresses)
    printed = run("eu-addr2line", "-afi", f"--executable={binary}", stdin=query)
    answers = addr2line_texts(_COLUMN.sub(r"\1", _INLINED.sub("", printed)))
    if len(answers) != len(addresses):
        raise ValueError(f"{len(addresses)} addresses, {len(answers)} answers")
    return [addr2line_frames(answer) for answer in answers]


def _known(text: str) -> str:
    return "" if text == "??" else text


_INSTRUCTION = re.compile(r" *([0-9a-f]+): ([0-9a-f ]+?) *\t(.*)")
_CALL = re.compile(
    r"(?:(?:addr32|bnd|data16|notrack|rex64)\s+)*"
    r"(?:l?call[lqw]?|syscall|int|bl|blr|blra[ab]z?|svc)(?:\s|$)"
)


def objdump_calls(binary: Path) -> dict[int, int]:
    """The calls in the code of *binary* that llvm-objdump shows: address -> return."""
    calls = {}
    listed = run(LLVM_OBJDUMP, "--disassemble", "--no-print-imm-hex", str(binary))
    for address, code, text in _INSTRUCTION.findall(listed):
        if _CALL.match(text):
            calls[int(address, 16)] = int(address, 16) + len(bytes.fromhex(code))
    return calls
