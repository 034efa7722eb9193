"""What two servers say differently of the same jobs."""

from __future__ import annotations

from gsym.records import NamedTuple

__all__ = ["FrameDifference", "ModuleDifference", "compare_answers"]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any


class FrameDifference(NamedTuple):
    """A frame of which the servers say other things.

    Attributes:
        job: Which one, from 0.
        stack: Of the job.
        frame: Of the stack.
        module: "name/id" as it was asked for; "" for none.
        offset: As it was asked for.
        ours: What this server says, of the fields that differ.
        theirs: What the other one says of them.
    """

    job: int
    stack: int
    frame: int
    module: str
    offset: int
    ours: dict[str, Any]
    theirs: dict[str, Any]


class ModuleDifference(NamedTuple):
    """A module that only one of the servers has found; None: not looked for."""

    job: int
    module: str
    ours: bool | None
    theirs: bool | None


def compare_answers(
    jobs: list[dict[str, Any]],
    ours: list[dict[str, Any]],
    theirs: list[dict[str, Any]],
    fields: tuple[str, ...],
) -> Iterator[FrameDifference | ModuleDifference]:
    """The differences between two answers to the same jobs.

    Args:
        jobs: As the request has them.
        ours: Results of version 5 of the API, one for each job.
        theirs: Likewise, with as many frames.
        fields: Of frames that are compared.
    """
    for number, (job, mine, other) in enumerate(zip(jobs, ours, theirs, strict=True)):
        yield from _compare_modules(number, mine, other)
        names = ["/".join(module) for module in job["memoryMap"]]
        stacks = zip(job["stacks"], mine["stacks"], other["stacks"], strict=True)
        for stack, frames in enumerate(stacks):
            for frame, (asked, one, two) in enumerate(zip(*frames, strict=True)):
                unlike = [each for each in fields if one.get(each) != two.get(each)]
                if unlike:
                    index, offset = asked
                    yield FrameDifference(
                        number,
                        stack,
                        frame,
                        names[index] if index >= 0 else "",
                        offset,
                        {each: one.get(each) for each in unlike},
                        {each: two.get(each) for each in unlike},
                    )


def _compare_modules(
    number: int, mine: dict[str, Any], other: dict[str, Any]
) -> Iterator[ModuleDifference]:
    found = other["found_modules"]
    for name, is_found in mine["found_modules"].items():
        # Some servers leave out what they did not look for.
        if bool(is_found) != bool(found.get(name)):
            yield ModuleDifference(number, name, is_found, found.get(name))
