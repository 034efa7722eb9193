"""Jobs -> requests of a suitable size, and their responses.

A server loads symbols once for the jobs of one build, so these are sent together. A job
with more frames than a request may have is split between or within stacks.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from gsym.errors import ServerError
from gsym.records import NamedTuple


class Piece(NamedTuple):
    """A job, or a part of one, as it is sent."""

    job: int  # index of the job
    payload: Any  # the JSON object to send
    # for each of its stacks: the index of the stack in the job, and of its first frame
    # there. None for a complete job
    origins: tuple[tuple[int, int], ...] | None
    frames: int  # number of frames


def read_jobs(request: Any) -> list[Any]:
    """The jobs of a request, unchecked: the server checks them.

    The request is an object with `jobs`, a single job (also of version 4), or a list of
    jobs.

    Raises:
        ValueError: It is none of these.
    """
    if isinstance(request, dict):
        jobs = request.get("jobs", [request])
        if isinstance(jobs, list):
            return list(jobs)
    elif isinstance(request, list):
        return list(request)
    raise ValueError("not a symbolication request, a job or a list of jobs")


def cut_jobs(jobs: list[Any], most_frames: int) -> Iterator[Piece]:
    """The jobs, split into pieces of at most *most_frames* frames.

    A malformed job is not split; the server reports the error.
    """
    for number, job in enumerate(jobs):
        frames = _frame_count(job)
        whole = Piece(number, job, None, frames)
        yield from [whole] if frames <= most_frames else _cut(whole, most_frames)


def halve_piece(piece: Piece) -> list[Piece]:
    """Two smaller pieces; *piece* itself if it has at most one frame."""
    if piece.frames <= 1:
        return [piece]
    return list(_cut(piece, (piece.frames + 1) // 2))


def group_pieces(
    pieces: list[Piece], most_jobs: int, most_frames: int
) -> list[list[Piece]]:
    """The pieces of each request, grouped by build.

    Remainders of several builds share requests.
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
    """Number of frames in the stacks of a job; 0 for a malformed one."""
    stacks = job.get("stacks") if isinstance(job, dict) else None
    if not isinstance(stacks, list):
        return 0
    if not all(isinstance(stack, list) for stack in stacks):
        return 0
    return sum(map(len, stacks))


def _cut(piece: Piece, most_frames: int) -> Iterator[Piece]:
    stacks: list[list[Any]] = []
    origins: list[tuple[int, int]] = []
    left, sent = most_frames, piece.payload["stacks"]
    whole = piece.origins or tuple((number, 0) for number in range(len(sent)))
    for (stack, start), frames in zip(whole, sent, strict=True):
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


def _part_of(
    piece: Piece, stacks: list[list[Any]], origins: list[tuple[int, int]]
) -> Piece:
    payload = {**piece.payload, "stacks": stacks}
    return Piece(piece.job, payload, tuple(origins), sum(map(len, stacks)))


def _build(job: Any) -> object:
    """An id of the build of a job: the module with most of its frames."""
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
        module: Name of the module, or "<unknown>".
        module_offset: From the base of the module; -1 if unknown.
        function: None if unknown.
        function_offset: From the start of the function, if the server returned it.
        file: Path of the source; "" if unknown.
        line: In *file*, from 1; 0 if unknown.
        inlines: (function, file, line) of inlined calls, innermost first.
        function_size: In bytes; 0 if unknown.
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
    """The result of a job.

    Attributes:
        stacks: The stacks of the job, with as many frames.
        found_modules: By "name/id": whether it was found; None if no frame needed it.
        error: Why the server refused the job, or "".
        unsure: By "name/id": why it may be another build than the one that was asked
            for. Modules that are surely right are left out.
        problems: By "name/id": why the server does not search for it.
    """

    stacks: tuple[tuple[StackFrame, ...], ...] = ()
    found_modules: dict[str, bool | None] = {}  # noqa: RUF012
    error: str = ""
    unsure: dict[str, str] = {}  # noqa: RUF012
    problems: dict[str, str] = {}  # noqa: RUF012


class Assembly:
    """Joins the responses to pieces, by job."""

    def __init__(self, count: int) -> None:
        self._results: list[dict[str, Any]] = [{} for _ in range(count)]

    def refuse(self, piece: Piece, reason: str) -> None:
        """Note why the server refused the job of *piece*."""
        self._results[piece.job] = {"error": reason}

    def is_refused(self, piece: Piece) -> bool:
        """Whether a piece of the same job was refused."""
        return "error" in self._results[piece.job]

    def take(self, piece: Piece, result: Any) -> None:
        """Add the server's result for *piece*."""
        error = result.get("error") if isinstance(result, dict) else None
        if isinstance(error, str) and not result.get("stacks"):
            self.refuse(piece, error)
            return
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
        for name in ("unsure", "module_errors"):
            if more := result.get(name):
                whole.setdefault(name, {}).update(more)

    def results(self) -> list[dict[str, Any]]:
        """Result of API version 5 for each job, or {"error": reason}."""
        return self._results


def from_version_4(piece: Piece, body: Any) -> dict[str, Any]:
    """A response of version 4 as a result of version 5."""
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
        raise mismatch() from None
    answer = {"stacks": stacks, "found_modules": found}
    return answer | ({"unsure": body["unsure"]} if "unsure" in body else {})


def _version_4_frame(number: int, asked: list[int], text: str) -> dict[str, Any]:
    """Parse "FUNCTION (in MODULE)"; an unknown function is an offset."""
    function, _, module = text.removesuffix(")").rpartition(" (in ")
    offset = hex(asked[1])
    frame = {"frame": number, "module": module, "module_offset": offset}
    return frame if function == offset else {**frame, "function": function}


def read_answer(result: dict[str, Any]) -> JobAnswer:
    """A result as a record."""
    if "error" in result:
        return JobAnswer(error=result["error"])
    stacks = tuple(tuple(map(_read_frame, stack)) for stack in result["stacks"])
    return JobAnswer(
        stacks,
        result["found_modules"],
        unsure={str(name): str(why) for name, why in result.get("unsure", {}).items()},
        problems={
            label: str(error.get("message"))
            for label, errors in (result.get("module_errors") or {}).items()
            for error in errors
            if error.get("name") == "InvalidModule"
        },
    )


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
        raise mismatch() from None


def _check(piece: Piece, result: Any) -> None:
    if not isinstance(result, dict) or "error" in result:
        raise mismatch()
    found, unsure = result.get("found_modules"), result.get("unsure", {})
    stacks = result.get("stacks")
    if not (
        isinstance(found, dict)
        and isinstance(unsure, dict)
        and isinstance(stacks, list)
        and all(isinstance(stack, list) for stack in stacks)
        and all(isinstance(frame, dict) for stack in stacks for frame in stack)
        and list(map(len, stacks)) == list(map(len, piece.payload["stacks"]))
    ):
        raise mismatch()


def mismatch() -> ServerError:
    """The error for a response that is not one to the request."""
    return ServerError("the response does not match the request")
