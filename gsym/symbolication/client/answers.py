"""What a server said of pieces of jobs -> what became of each job."""

from __future__ import annotations

from gsym.errors import ServerError
from gsym.records import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from gsym.symbolication.client.jobs import Piece


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
