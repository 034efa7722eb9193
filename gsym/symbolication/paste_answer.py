"""A pasted stack -> the symbols at its addresses, or the reason why there are none.

Opening modules may take long, so it is a separate step, as for API requests: gather,
open, answer. All addresses of a module are looked up together.
"""

from __future__ import annotations

import msgspec

from gsym.model import UINT64_MAX
from gsym.store.modules import key_of_debug_id
from gsym.symbolication.page_records import (
    AttemptShown,
    CallShown,
    ModuleShown,
    attempts_shown,
    call_shown,
    module_shown,
    shown,
)
from gsym.symbolication.stacks.parts import NO_MODULE, StackFrame

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from gsym.reading.frames import Frames
    from gsym.store.modules import Entry, ModuleKey
    from gsym.store.symbolizer import OpenModule
    from gsym.symbolication.path_map import PathMap
    from gsym.symbolication.stacks.parts import PastedStack, StackModule
    from gsym.symbolication.store_listing import StoreListing

_MOST_CANDIDATES = 50
_MOST_CALLS = 200  # inlined calls of one frame, the innermost
_MOST_TEXT = 16 << 20  # characters of all names and paths of a response


class FrameAnswer(msgspec.Struct):
    """The symbols at an address of a paste.

    Attributes:
        text: The original text.
        module: Index into the modules of the response, or -1.
        address: As in the paste, hexadecimal.
        calls: Innermost first, the function itself last; empty if unknown.
        reason: Why there are no calls, if the module is available.
    """

    text: str
    module: int
    address: str
    calls: list[CallShown] = []
    reason: str = ""


class ModuleAnswer(msgspec.Struct):
    """The result for a module of a paste.

    Attributes:
        name: As in the paste, without folder.
        debug_id: Of the module that was found, else as in the paste.
        code_id: Likewise.
        state: "found", "missing", or "unused" (no frame is in it).
        reason: Why it is missing.
        attempts: The result from each source.
        is_guess: The paste has no id for it, and this is the newest module of the name.
        candidates: For a guess: all modules of the name, the newest first.
    """

    name: str
    debug_id: str
    code_id: str
    state: str = "unused"
    reason: str = ""
    attempts: list[AttemptShown] = []
    is_guess: bool = False
    candidates: list[ModuleShown] = []


class PasteAnswer(msgspec.Struct):
    """A symbolized paste.

    Attributes:
        form: The recognized format.
        is_verbatim: Whether the texts are those of the paste.
        parts: Texts, and indexes into `frames`, in order.
        frames: The frames between the texts.
        modules: The modules of the paste.
        notes: What was left out.
    """

    form: str
    is_verbatim: bool
    parts: list[str | int]
    frames: list[FrameAnswer]
    modules: list[ModuleAnswer]
    notes: list[str]


class ModuleOfPaste:
    """A module of a paste, and its frames.

    Args:
        named: The module as in the paste.
        chosen: Debug id that the user chose for it, or "".

    Attributes:
        key: The key to open it by; None if unknown, or not needed.
        module: The result of opening it; None before that, and without a key.
        seconds: The time that took.
    """

    def __init__(self, named: StackModule, chosen: str) -> None:
        self.named = named
        self.chosen = chosen
        self.frames: list[int] = []
        self.candidates: list[Entry] = []
        self.key: ModuleKey | None = None
        self.module: OpenModule | None = None
        self.seconds = 0.0
        self.reason = named.problem

    def identify(self, listing: StoreListing, same: ModuleKey | None) -> None:
        """Find the key to open it by.

        Args:
            listing: The modules of the store.
            same: A key with an id that the paste has elsewhere for this name.

        Raises:
            GsymError: The store cannot be used.
            OSError: It cannot be read.
        """
        known = self.named.key
        if not self.frames or self.reason:
            return
        if known.debug_id or known.code_id:
            self.key = known
            return
        if same is not None and not self.chosen:
            self.key = same
            return
        self.candidates = listing.named(self.named.name)
        debug_ids = [entry.identity.debug_id for entry in self.candidates]
        if self.chosen in debug_ids:
            self.key = key_of_debug_id(self.named.name, self.chosen)
        elif debug_ids:
            self.key = key_of_debug_id(self.named.name, debug_ids[0])
        else:
            self.reason = (
                "the paste has no id for it, and no module of its name is known"
            )

    def answer(self) -> ModuleAnswer:
        """The result."""
        known = self.named.key
        answer = ModuleAnswer(shown(self.named.name), known.debug_id, known.code_id)
        if not self.frames:
            return answer
        answer.state = "found"
        if self.module is None or self.module.reader is None:
            reason = self.module.reason if self.module is not None else self.reason
            answer.state, answer.reason = "missing", shown(reason)
        if self.module is not None:
            if self.module.entry is not None:
                identity = self.module.entry.identity
                answer.debug_id, answer.code_id = identity.debug_id, identity.code_id
            answer.attempts = attempts_shown(self.module.attempts)
        is_named_only = not known.debug_id and not known.code_id
        answer.is_guess = is_named_only and bool(self.candidates) and not self.chosen
        answer.candidates = [
            module_shown(entry) for entry in self.candidates[:_MOST_CANDIDATES]
        ]
        return answer


class PasteWork:
    """The work for one paste.

    Args:
        stack: The parsed paste.
        choices: Debug ids that the user chose, by index of the module.
        path_map: Rewrites paths of source files; None: unchanged.

    Attributes:
        modules: The modules in the order of the paste.
    """

    def __init__(
        self,
        stack: PastedStack,
        choices: Mapping[int, str],
        path_map: PathMap | None = None,
    ) -> None:
        self._stack = stack
        self._path_map = path_map
        self.modules = [
            ModuleOfPaste(module, choices.get(at, ""))
            for at, module in enumerate(stack.modules)
        ]
        self._frames = [part for part in stack.parts if isinstance(part, StackFrame)]
        for at, frame in enumerate(self._frames):
            if frame.module != NO_MODULE:
                self.modules[frame.module].frames.append(at)

    def identify(self, listing: StoreListing) -> None:
        """Find the keys to open the modules by.

        Raises:
            GsymError: The store cannot be used.
            OSError: It cannot be read.
        """
        keys = {
            each.named.name: each.named.key
            for each in reversed(self.modules)
            if not each.named.problem
            and (each.named.key.debug_id or each.named.key.code_id)
        }
        for module in self.modules:
            module.identify(listing, keys.get(module.named.name))

    def answer(self) -> PasteAnswer:
        """The response, when the modules are open.

        Raises:
            GsymError: A file is damaged.
        """
        answers = [
            FrameAnswer(frame.text, frame.module, hex(frame.address))
            for frame in self._frames
        ]
        for answer in answers:
            if answer.module == NO_MODULE:
                answer.reason = "not in a known module"
        notes = list(self._stack.notes)
        text_left = _MOST_TEXT
        for module in self.modules:
            if module.module is not None and module.module.reader is not None:
                text_left = self._look_up(module, answers, text_left)
        if text_left <= 0:
            notes.append("Some frames are left out: the response would be too large.")
        numbers = iter(range(len(answers)))
        return PasteAnswer(
            self._stack.form,
            self._stack.is_verbatim,
            [
                next(numbers) if isinstance(part, StackFrame) else part
                for part in self._stack.parts
            ],
            answers,
            [module.answer() for module in self.modules],
            notes,
        )

    def _look_up(
        self, work: ModuleOfPaste, answers: list[FrameAnswer], text_left: int
    ) -> int:
        reader = work.module.reader if work.module is not None else None
        if reader is None or text_left <= 0:
            return text_left
        base = reader.header.base_address
        asked = [self._frames[at] for at in work.frames]
        addresses = [_link_address(frame, base) for frame in asked]
        frames = reader.lookup_many(addresses, misses=False)
        calls_of, text_left = _calls_by_address(frames, text_left, self._path_map)
        for at, calls in calls_of.items():
            answers[work.frames[at]].calls = calls
        for at in work.frames:
            if not answers[at].calls:
                answers[at].reason = "no function at this address"
        return text_left


def _link_address(frame: StackFrame, base: int) -> int:
    """The link-time address to look up, limited to the address space."""
    address = frame.address
    if frame.base == "image" or (frame.base == "either" and address < base):
        address += base
    return min(max(address - frame.is_return, 0), UINT64_MAX)


def _calls_by_address(
    frames: Frames, text_left: int, path_map: PathMap | None
) -> tuple[dict[int, list[CallShown]], int]:
    """Calls of each address with symbols, and the remaining text budget."""
    tables = frames.tables
    found: dict[int, list[CallShown]] = {}
    for at, name, file, line, offset, inlined in zip(  # noqa: B905 - of one table
        frames.address_index,
        frames.name,
        frames.file,
        frames.line,
        frames.offset,
        frames.inlined,
    ):
        calls = found.setdefault(at, [])
        if inlined and len(calls) >= _MOST_CALLS:
            continue
        call = call_shown(
            tables.strings[name], tables.files[file], line, offset, path_map
        )
        text_left -= len(call.function) + len(call.file)
        if text_left <= 0:
            found.pop(at)
            break
        calls.append(call)
    return found, text_left
