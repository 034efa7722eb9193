"""Symbolication requests of any size, with the expected responses.

The expected answers are looked up one address at a time in a separate GSYM file of the
same Breakpad file, without the server, its store or its batches.
"""

from __future__ import annotations

import json
import random
from typing import TYPE_CHECKING, Any, NamedTuple

import gsym
from tests.differential.sampling import functions, random_addresses

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from benchmarks.breakpad_tree import SymbolFile

SAMPLE = 20_000
SEED = 1
STACK_DEPTH = 50
# What a server may say beyond the specification.
ADDITIONS = ("function_size",)


class Module:
    """A module to ask for, and its GSYM file to compare with.

    Attributes:
        debug_file: Its name.
        debug_id: Its id.
        offsets: Random places within its functions, each byte equally likely, counted
            from the base of the module.
    """

    def __init__(self, symbols: SymbolFile, folder: Path) -> None:
        path = folder / f"{symbols.debug_file}.{symbols.debug_id}.gsym"
        if not path.exists():
            gsym.convert(symbols.path, path)
        self.debug_file, self.debug_id = symbols.debug_file, symbols.debug_id
        self._reader = gsym.open(path)
        base = self._reader.header.base_address
        addresses = random_addresses(functions(path), SAMPLE, SEED)
        self.offsets = [address - base for address in addresses]

    def frame(self, number: int, offset: int) -> dict[str, Any]:
        """The right answer to the frame *number* of a stack."""
        place = {
            "frame": number,
            "module": self.debug_file,
            "module_offset": hex(offset),
        }
        base = self._reader.header.base_address
        answer = self._reader.lookup(base + offset)
        if answer is None:
            return place
        *inlined, outer = (_call(frame) for frame in answer.frames)
        start = answer.function.start
        place |= {"function_offset": hex(base + offset - start), **outer}
        return place | {"inlines": inlined} if inlined else place


def _call(frame: gsym.Frame) -> dict[str, Any]:
    said: dict[str, Any] = {"function": gsym.demangle(frame.name)}
    if frame.path:
        said["file"] = frame.path
        if frame.line:
            said["line"] = frame.line
    return said


class Request(NamedTuple):
    """A request of version 5 of the API: the modules, and per job its stacks."""

    modules: tuple[Module, ...]
    jobs: tuple[tuple[tuple[tuple[int, int], ...], ...], ...]

    @property
    def frames(self) -> int:
        """How many there are in all stacks."""
        return sum(len(stack) for stacks in self.jobs for stack in stacks)

    def body(self) -> bytes:
        """As it is sent."""
        memory_map = [[module.debug_file, module.debug_id] for module in self.modules]
        jobs = [{"memoryMap": memory_map, "stacks": stacks} for stacks in self.jobs]
        return json.dumps({"jobs": jobs}, separators=(",", ":")).encode()

    def difference(self, body: bytes) -> str:
        """The first thing in an answer that is not right; "" where all is."""
        results = json.loads(body)["results"]
        if len(results) != len(self.jobs):
            return f"{len(results)} results for {len(self.jobs)} jobs"
        asked = {index for job in self.jobs for stack in job for index, _ in stack}
        found = {
            f"{module.debug_file}/{module.debug_id}": True if at in asked else None
            for at, module in enumerate(self.modules)
        }
        for stacks, result in zip(self.jobs, results, strict=True):
            if result["found_modules"] != found:
                return f"found_modules: {result['found_modules']}, not {found}"
            for stack, answers in zip(stacks, result["stacks"], strict=True):
                wrong = self._difference_in(stack, answers)
                if wrong:
                    return wrong
        return ""

    def _difference_in(
        self, stack: Sequence[tuple[int, int]], answers: list[dict[str, Any]]
    ) -> str:
        if len(answers) != len(stack):
            return f"{len(answers)} frames for {len(stack)}"
        for number, (index, offset) in enumerate(stack):
            expected = self.modules[index].frame(number, offset)
            answer = answers[number]
            for addition in ADDITIONS:
                answer.pop(addition, None)
            if answer != expected:
                return f"{answer}, not {expected}"
        return ""


def uniform_requests(module: Module, frames: int, count: int) -> list[Request]:
    """Requests of one job with so many frames, each with other addresses."""
    generator = random.Random(SEED)  # noqa: S311 - a sample, no secret
    return [
        Request((module,), (_stacks((module,), frames, generator),))
        for _ in range(count)
    ]


def mixed_requests(
    modules: Sequence[Module],
    count: int,
    seed: int = SEED,
    *,
    most_jobs: int = 10,
    frames: tuple[int, int] = (20, 1000),
) -> list[Request]:
    """Requests of 1 to *most_jobs* jobs, each with a number of frames from a range.

    The logarithm of the number of frames is equally distributed, the number of jobs
    itself is: small jobs are common, great ones are not.
    """
    generator = random.Random(seed)  # noqa: S311 - a sample, no secret
    fewest, most = frames
    found = []
    for _ in range(count):
        chosen = tuple(
            generator.sample(list(modules), generator.randint(1, len(modules)))
        )
        sizes = [
            round(fewest * (most / fewest) ** generator.random())
            for _ in range(generator.randint(1, most_jobs))
        ]
        jobs = tuple(_stacks(chosen, size, generator) for size in sizes)
        found.append(Request(chosen, jobs))
    return found


def _stacks(
    modules: Sequence[Module], frames: int, generator: random.Random
) -> tuple[tuple[tuple[int, int], ...], ...]:
    asked = []
    for _ in range(frames):
        index = generator.randrange(len(modules))
        asked.append((index, generator.choice(modules[index].offsets)))
    return tuple(
        tuple(asked[at : at + STACK_DEPTH]) for at in range(0, frames, STACK_DEPTH)
    )
