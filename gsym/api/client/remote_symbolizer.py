"""A symbolization server used as a symbolizer, for `gsym filter`."""

from __future__ import annotations

from gsym.arguments import instance_of, integer_of, items_of, refusal
from gsym.errors import ServerError
from gsym.model import UINT64_END, Frame, FunctionRange, Lookup
from gsym.modules.key import Attempt, ModuleKey, elf_debug_id, is_hex
from gsym.modules.open_module import OpenModule
from gsym.modules.symbolizer import Symbolization

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Sequence

    from gsym.api.client.jobs import JobAnswer, StackFrame
    from gsym.api.client.symbolication_client import SymbolicationClient


class RemoteSymbolizer:
    """Symbolizes with a server, as `Symbolizer.symbolize` does with local files.

    Args:
        client: Sends the requests; not closed here.
        name: The name of the server in attempts.
    """

    def __init__(self, client: SymbolicationClient, name: str = "server") -> None:
        if not hasattr(client, "symbolicate"):
            raise refusal("client", "a gsym.SymbolicationClient", client)
        self._client = client
        self._name = name

    def symbolize(self, key: ModuleKey, *, offset: int) -> Symbolization:
        """The symbols at an address of a module.

        Args:
            key: The module.
            offset: The address, in bytes from the base of the module.

        Raises:
            ServerError: The server returns no usable response.
        """
        return self.symbolize_many([(key, offset)])[0]

    def symbolize_many(
        self, asked: Sequence[tuple[ModuleKey, int]]
    ) -> list[Symbolization]:
        """The symbols at many addresses, with as few requests as possible.

        The offset of inlined calls is unknown, and is 0.

        Args:
            asked: Modules and offsets, as for `symbolize`.

        Raises:
            ServerError: As for `symbolize`.
        """
        offsets: dict[tuple[str, str, str], list[int]] = {}
        places = []
        for key, offset in items_of("asked", asked, "pairs of a key and an offset"):
            instance_of("key", key, ModuleKey)
            integer_of("offset", offset)
            frames = offsets.setdefault(_module(key), [])
            places.append(len(frames) if 0 <= offset < UINT64_END else None)
            if places[-1] is not None:
                frames.append(offset)
        modules = [module for module, found in offsets.items() if found]
        jobs = [
            {
                "memoryMap": [[name, debug_id]],
                "stacks": [
                    [[0, offset] for offset in offsets[name, debug_id, code_id]]
                ],
            }
            | ({"codeIds": [code_id]} if code_id else {})
            for name, debug_id, code_id in modules
        ]
        answers = self._client.symbolicate(jobs) if jobs else []
        by_module = dict(zip(modules, answers, strict=True))
        nowhere, no_address = OpenModule(None, None), "{:#x} is not an address"
        return [
            Symbolization(None, no_address.format(offset), nowhere)
            if place is None
            else self._answer(by_module[_module(key)], place)
            for (key, offset), place in zip(asked, places, strict=True)
        ]

    def _answer(self, answer: JobAnswer, place: int) -> Symbolization:
        if answer.error:
            attempts = (Attempt(self._name, "refused", answer.error),)
            return Symbolization(None, answer.error, OpenModule(None, None, attempts))
        is_found = any(answer.found_modules.values())
        attempts = (Attempt(self._name, "found" if is_found else "missing"),)
        unsure = next(iter(answer.unsure.values()), "")  # a job has one module
        module = OpenModule(None, None, attempts, unsure=unsure)
        lookup = _lookup(answer.stacks[0][place])
        if lookup is not None:
            return Symbolization(lookup, "", module)
        reason = "the server has no symbols for this module"
        if is_found:
            reason = "the server has no function at this address"
        reason = next(iter(answer.problems.values()), reason)
        return Symbolization(None, reason, module)


def _module(key: ModuleKey) -> tuple[str, str, str]:
    """Name, debug id and code id for the API."""
    debug_id = key.debug_id
    if not debug_id and key.code_id:
        try:
            debug_id = elf_debug_id(bytes.fromhex(key.code_id), "little")
        except ValueError:
            raise ServerError(f"invalid build id '{key.code_id}'") from None
    name = key.debug_file or key.code_file or "unknown"
    return name, debug_id, key.code_id if is_hex(key.code_id) else ""


def _lookup(frame: StackFrame) -> Lookup | None:
    if frame.function is None:
        return None
    start = frame.module_offset - (frame.function_offset or 0)
    inlined = tuple(
        _frame(name, file, line, 0, inlined=True) for name, file, line in frame.inlines
    )
    outer = _frame(
        frame.function,
        frame.file,
        frame.line,
        frame.function_offset or 0,
        inlined=False,
    )
    function = FunctionRange(frame.function, start, frame.function_size)
    return Lookup(frame.module_offset, function, (*inlined, outer))


def _frame(name: str, path: str, line: int, offset: int, *, inlined: bool) -> Frame:
    directory, _, file = path.rpartition("/")
    return Frame(name, directory, file, line, offset, inlined)
