"""Jobs as people have them -> requests of a suitable size, and their answers.

A server loads symbols once for the jobs of one build, so these go together. A job with
more frames than a request may have is cut into pieces, between stacks and within one.
"""

from __future__ import annotations

from gsym.errors import ServerError
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
    left = most_frames
    for stack, start, frames in _parts(piece):
        done = 0
        while done < len(frames) or not frames:
            part = frames[done : done + left]
            stacks.append(part)
            origins.append((stack, start + done))
            done += len(part)
            left -= len(part)
            if left == 0:
                yield _part_of(piece, stacks, origins)
                stacks, origins, left = [], [], most_frames
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


class StackFrame(NamedTuple):
    """A frame of a stack, symbolicated or not.

    Attributes:
        module: Name of the module; "<unknown>" for none.
        module_offset: From the base of the module; -1 where that is not known.
        function: None where no function is known.
        function_offset: From the start of the function, if the server said so.
        file: Of the source; "" where it is not known.
        line: Of *file*, from 1; 0 where it is not known.
        inlines: (function, file, line) of what is inlined here, innermost first.
        function_size: In bytes; 0 where the server does not say.
    """

    module: str
    module_offset: int
    function: str | None = None
    function_offset: int | None = None
    file: str = ""
    line: int = 0
    inlines: tuple[tuple[str, str, int], ...] = ()
    function_size: int = 0


class JobAnswer(NamedTuple):
    """What became of a job.

    Attributes:
        stacks: As many as were asked for, each with as many frames.
        found_modules: By "name/id": whether it was found, None where no frame
            needed it.
        error: Why the server refused the job; "" if it did not.
    """

    stacks: tuple[tuple[StackFrame, ...], ...] = ()
    found_modules: dict[str, bool | None] = {}  # noqa: RUF012
    error: str = ""


class Assembly:
    """Puts the answers to pieces together, by job.

    Args:
        count: How many jobs there are.
    """

    def __init__(self, count: int) -> None:
        self._results: list[dict[str, Any]] = [{} for _ in range(count)]

    def refuse(self, piece: Piece, reason: str) -> None:
        """Note why the server does not take the job of *piece*."""
        self._results[piece.job] = {"error": reason}

    def is_refused(self, piece: Piece) -> bool:
        """Whether a piece of the same job was refused."""
        return "error" in self._results[piece.job]

    def take(self, piece: Piece, result: Any) -> None:
        """Note what the server said of *piece*.

        Raises:
            ServerError: It is no answer to that.
        """
        _check(piece, result)
        if piece.origins is None:
            self._results[piece.job] = result
            return
        whole = self._results[piece.job]
        if "error" in whole:
            return
        stacks = whole.setdefault("stacks", [])
        for (stack, start), frames in zip(piece.origins, result["stacks"], strict=True):
            while len(stacks) <= stack:
                stacks.append([])
            stacks[stack] += [
                {**frame, "frame": number} for number, frame in enumerate(frames, start)
            ]
        found = whole.setdefault("found_modules", {})
        for name, is_found in result["found_modules"].items():
            if found.get(name) is None:
                found[name] = is_found
        if errors := result.get("module_errors"):
            whole.setdefault("module_errors", {}).update(errors)

    def results(self) -> list[dict[str, Any]]:
        """For each job: what the API of version 5 calls a result, or {"error": why}."""
        return self._results


def from_version_4(piece: Piece, body: Any) -> dict[str, Any]:
    """An answer of version 4 as a result of version 5.

    Raises:
        ServerError: It is no answer.
    """
    try:
        stacks = [
            [
                _version_4_frame(number, asked, text)
                for number, (asked, text) in enumerate(zip(stack, texts, strict=True))
            ]
            for stack, texts in zip(
                piece.payload["stacks"], body["symbolicatedStacks"], strict=True
            )
        ]
        names = ["/".join(module) for module in piece.payload["memoryMap"]]
        found = dict(zip(names, body["knownModules"], strict=True))
    except (KeyError, TypeError, ValueError, AttributeError):
        raise _unfit() from None
    return {"stacks": stacks, "found_modules": found}


def _version_4_frame(number: int, asked: list[int], text: str) -> dict[str, Any]:
    """From "FUNCTION (in MODULE)", with the offset in place of a missing function."""
    function, _, module = text.removesuffix(")").rpartition(" (in ")
    offset = hex(asked[1])
    frame = {"frame": number, "module": module, "module_offset": offset}
    return frame if function == offset else {**frame, "function": function}


def read_answer(result: dict[str, Any]) -> JobAnswer:
    """A result as a record."""
    if "error" in result:
        return JobAnswer(error=result["error"])
    stacks = tuple(tuple(map(_read_frame, stack)) for stack in result["stacks"])
    return JobAnswer(stacks, result["found_modules"])


def _read_frame(frame: dict[str, Any]) -> StackFrame:
    try:
        start, function = frame.get("function_offset"), frame.get("function")
        return StackFrame(
            module=str(frame["module"]),
            module_offset=int(frame["module_offset"], 16),
            function=None if function is None else str(function),
            function_offset=None if start is None else int(start, 16),
            file=str(frame.get("file") or ""),
            line=int(frame.get("line") or 0),
            inlines=tuple(
                (
                    str(call.get("function") or ""),
                    str(call.get("file") or ""),
                    int(call.get("line") or 0),
                )
                for call in frame.get("inlines") or ()
            ),
            function_size=int(frame.get("function_size") or "0", 16),
        )
    except (KeyError, TypeError, ValueError, AttributeError):
        raise _unfit() from None


def _check(piece: Piece, result: Any) -> None:
    """See that a result has the shape of what was asked."""
    if not isinstance(result, dict) or "error" in result:
        raise _unfit()
    stacks, found = result.get("stacks"), result.get("found_modules")
    if not isinstance(stacks, list) or not isinstance(found, dict):
        raise _unfit()
    if not all(isinstance(stack, list) for stack in stacks):
        raise _unfit()
    if not all(isinstance(frame, dict) for stack in stacks for frame in stack):
        raise _unfit()
    if list(map(len, stacks)) != list(map(len, piece.payload["stacks"])):
        raise _unfit()


def _unfit() -> ServerError:
    return ServerError("the server's answer does not fit what was asked")
