"""Jobs as people have them -> requests of a size that servers like.

A server that symbolicates jobs of one build loads its symbols once; so such jobs go
together. A job of more frames than a request shall have is cut into pieces, between
stacks and within one.
"""

from __future__ import annotations

from gsym.records import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any


class Piece(NamedTuple):
    """A job, or a part of one, as it is sent.

    Attributes:
        job: Which one, from 0.
        payload: What is sent for it.
        origins: For each of its stacks: which one of the job it is from, and from
            which frame on. None for a job that is not cut.
        frames: How many frames it has.
    """

    job: int
    payload: Any
    origins: tuple[tuple[int, int], ...] | None
    frames: int


def read_jobs(request: Any) -> list[Any]:
    """The jobs of a request, which are not checked: the server does that.

    Args:
        request: An object with `jobs`, a single job (as version 4 has it, too), or a
            list of jobs.

    Raises:
        ValueError: It is none of these.
    """
    if isinstance(request, dict):
        jobs = request.get("jobs", [request])
        if isinstance(jobs, list):
            return list(jobs)
    elif isinstance(request, list):
        return list(request)
    raise ValueError("this is no symbolication request, no job and no list of jobs")


def cut_jobs(jobs: list[Any], most_frames: int) -> Iterator[Piece]:
    """The jobs, each in pieces of at most *most_frames* frames.

    A job that is not built as it should be stays whole; the server says why.
    """
    for number, job in enumerate(jobs):
        frames = _frame_count(job)
        whole = Piece(number, job, None, frames)
        yield from [whole] if frames <= most_frames else _cut(whole, most_frames)


def halve_piece(piece: Piece) -> list[Piece]:
    """Two smaller pieces; *piece* alone where it has no more than one frame."""
    if piece.frames <= 1:
        return [piece]
    return list(_cut(piece, (piece.frames + 1) // 2))


def group_pieces(
    pieces: list[Piece], most_jobs: int, most_frames: int
) -> list[list[Piece]]:
    """What goes into each request: pieces of the same build together.

    What is left of the builds shares requests, so that jobs that have nothing in
    common do not take a request each.
    """
    builds: dict[object, list[Piece]] = {}
    for piece in pieces:
        builds.setdefault(_build(piece.payload), []).append(piece)
    requests: list[list[Piece]] = []
    shared: list[list[Piece]] = [[]]
    for group in builds.values():
        *full, left = _fill(group, most_jobs, most_frames)
        requests += full
        if shared[-1] and not _fits(shared[-1], left, most_jobs, most_frames):
            shared.append([])
        shared[-1] += left
    return requests + [request for request in shared if request]


def _fill(
    group: list[Piece], most_jobs: int, most_frames: int
) -> Iterator[list[Piece]]:
    request: list[Piece] = []
    for piece in group:
        if request and not _fits(request, [piece], most_jobs, most_frames):
            yield request
            request = []
        request.append(piece)
    yield request


def _fits(
    request: list[Piece], more: list[Piece], most_jobs: int, most_frames: int
) -> bool:
    frames = sum(piece.frames for piece in (*request, *more))
    return len(request) + len(more) <= most_jobs and frames <= most_frames


def _frame_count(job: Any) -> int:
    """How many frames the stacks of a job have; 0 where it has no such thing."""
    stacks = job.get("stacks") if isinstance(job, dict) else None
    if not isinstance(stacks, list):
        return 0
    if not all(isinstance(stack, list) for stack in stacks):
        return 0
    return sum(map(len, stacks))


def _cut(piece: Piece, most_frames: int) -> Iterator[Piece]:
    stacks: list[list[Any]] = []
    origins: list[tuple[int, int]] = []
    room = most_frames
    for stack, start, frames in _parts(piece):
        done = 0
        while done < len(frames) or not frames:
            part = frames[done : done + room]
            stacks.append(part)
            origins.append((stack, start + done))
            done += len(part)
            room -= len(part)
            if room == 0:
                yield _part_of(piece, stacks, origins)
                stacks, origins, room = [], [], most_frames
            if not frames:
                break
    if stacks:
        yield _part_of(piece, stacks, origins)


def _parts(piece: Piece) -> Iterator[tuple[int, int, list[Any]]]:
    """(stack, first frame, frames) of what a piece holds, by the numbers of its job."""
    stacks = piece.payload["stacks"]
    origins = piece.origins or tuple((number, 0) for number in range(len(stacks)))
    for (stack, start), frames in zip(origins, stacks, strict=True):
        yield stack, start, frames


def _part_of(
    piece: Piece, stacks: list[list[Any]], origins: list[tuple[int, int]]
) -> Piece:
    payload = {**piece.payload, "stacks": stacks}
    return Piece(piece.job, payload, tuple(origins), sum(map(len, stacks)))


def _build(job: Any) -> object:
    """What stands for the build of a job: the module that most of its frames are in."""
    if not _frame_count(job):
        return None
    counts: dict[int, int] = {}
    for stack in job["stacks"]:
        for frame in stack:
            if isinstance(frame, list) and frame and isinstance(frame[0], int):
                counts[frame[0]] = counts.get(frame[0], 0) + 1
    modules = job.get("memoryMap")
    if not isinstance(modules, list):
        return None
    known = [index for index in counts if 0 <= index < len(modules)]
    if not known:
        return None
    return repr(modules[max(known, key=lambda index: counts[index])])
