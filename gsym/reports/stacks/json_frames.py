"""Frames in JSON and XML of any program, by structure.

An object with an address is a frame. Its module is the one that it names, the one of
that index or id, or the one whose range has the address. An object with a name and a
base or an id, but no address, is a module.
"""

from __future__ import annotations

from functools import lru_cache

from gsym.lazy import regex
from gsym.memory.regions import Region, Regions
from gsym.memory.stack_parts import (
    NO_MODULE,
    StackFrame,
    file_name,
    module_of_ids,
    module_of_path,
)
from gsym.model import UINT64_MAX, valid_text
from gsym.modules.maps import MAPPING
from gsym.reports.stacks.documents import as_list, as_object
from gsym.reports.stacks.evidence import Line
from gsym.reports.stacks.tokens import SOURCE

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    import re
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from typing import Any

    from gsym.memory.stack_parts import StackBuilder, StackModule

    _Find = Callable[[int], Region | None]

FORM = "JSON or XML with addresses"
_APPLE, _REQUEST = "Apple crash report (.ips)", "symbolication request"
_VALGRIND = "valgrind XML"
_OF_VALGRIND = "valgrindoutput"
_PROGRAM = range(0x108000, 0x400000)
"""Where valgrind loads a program that can be moved."""
_NAMED = (
    (_APPLE, ("usedImages", "threads")),
    ("minidump-stackwalk JSON", ("modules", "threads")),
    (_REQUEST, ("jobs",)),
    (_REQUEST, ("memoryMap", "stacks")),
)
"""Forms, and the lists that such a document has."""
_HEADINGS = (
    ("procName", "Process"),
    ("procPath", "Path"),
    ("captureTime", "Date/Time"),
    ("modelCode", "Hardware"),
)
_EXCEPTION = "Last Exception Backtrace"  # of Apple: all of its addresses return
_REGISTER_NAMES = {"fp": "x29", "lr": "x30"}

# Keys, without their case, "_" and "-".
_ADDRESS = regex(
    r"(?:instruction|return|absolute|code|frame|program)?(?:addr|address|counter)|ip|pc"
    r"|[er]ip|instruction|instructionaddr(?:ess)?|(?:native)?pc|addressinprocess|a"
)
_OFFSET = regex(
    r"(?:rel|relative|module|image|library|binary|so|elf|file|dso|buildid)?"
    r"(?:off|offset|relativeaddress|reladdr|rva|relpc|relativepc)"
    r"|offsetintobinarytextsegment|relative(?:addr|address)|rel(?:addr|pc)"
    r"|moduleoffset|o"
)
_BASE = regex(
    r"(?:module|image|load|binary|library|start|base|map|mapped|dso|segment|macho)?"
    r"(?:base|load|start|image|begin|mapping)?(?:addr|address|base|start|begin|at)"
    r"|base|loadaddress|imageloadaddress|b"
)
_END = regex(r"(?:end|limit|last)(?:addr|address)?|(?:addr|address)?end")
_SIZE = regex(r"(?:image|module|mem|memory|text)?(?:size|length)(?:ofimage)?")
_DIGITS = regex(r"[0-9a-fA-F]{3,16}")
_IS_DECIMAL = regex(r"(?!0{6})[0-9]+")
_DEBUG_ID = regex(r"(?:debug|breakpad)id(?:entifier)?")
_CODE_ID = regex(r"(?:code|build|gnubuild)id|(?:image|binary|module|macho)?uuid|id")
_IS_NUMBER = regex(r"[0-9]{1,7}")  # of an element: ids have more digits
_NAME = regex(
    r"(?:code|image|module|mod|object|binary|library|lib|debug|dso|elf|so|mapping|exe|macho)?"
    r"(?:file|path|name|filename|filepath)?|package"
)
_NAMES_BEST = ("path", "code", "package", "mod", "file", "binary", "image", "name")
_INDEX = regex(r"(?:module|image|library|lib|mapping|binary)(?:index|id|idx)?")
_FUNCTION = regex(
    r"(?:func|function|sym|symbol|method|raw|rawfunction|procedure)(?:name|function)?"
)
_IN_BRACKETS = regex(r"\[([^\[\]]{1,1024})\]$")
_THREAD_NAME = regex(r"(?:thread)?name|queue")
_TRUST = regex(r"trust|kind|type")
_CRASHED = regex(
    r"(?:is)?(?:crash(?:ed|ing)?|triggered|faulting|threadattributed)(?:thread)?"
)
_CRASHED_INDEX = regex(r"(?:crashing|crashed|faulting|requesting)thread(?:index)?")
_REASON = regex(r"(?:crash|exception|signal|sub)?(?:reason|type|kind|signal)")
_IS_REASON = regex(r"SIG[A-Z]{2}|EXC_|EXCEPTION_")
_PAIR = 2
_LEAST_START = 0x10000  # of a module in a process
_PAGE = 4096


def form_of(report: Any) -> str:
    """The name of the form of decoded JSON."""
    documents = _several(report)
    if documents and all(_OF_VALGRIND in as_object(each) for each in documents):
        return _VALGRIND
    for each in (report, as_object(report).get("json_dump")):
        for form, keys in _NAMED:
            if _has_lists(each, *keys):
                return form
    return FORM


def _has_lists(value: Any, *keys: str) -> bool:
    return all(isinstance(as_object(value).get(key), list) for key in keys)


def add_json_report(report: Any, stack: StackBuilder, region: _Find) -> None:
    """Parse decoded JSON of any form."""
    form = form_of(report)
    _mark_hexadecimal(report)
    if form == _REQUEST:
        report = _stacks_of_request(report, stack)
    elif form == _VALGRIND:
        report = [_stacks_of_valgrind(each[_OF_VALGRIND]) for each in _several(report)]
    _Walk(stack, region, form).add(report)


def mapped_lines(report: Any) -> Iterator[str]:
    """The lines of /proc/PID/maps in strings of decoded JSON."""
    for item in _objects({"": report}):
        for value in item.values():
            texts = value if isinstance(value, list) else [value]
            for text in texts:
                if isinstance(text, str):
                    yield from filter(MAPPING.match, text.split("\n"))


def _mark_hexadecimal(report: Any) -> None:
    """Mark digits of a place as hexadecimal if others of their key have letters."""
    found = [
        (item, key)
        for item in _objects(report)
        for key, value in item.items()
        if isinstance(value, str) and _DIGITS.fullmatch(value)
    ]
    keys = {key for item, key in found if not _IS_DECIMAL.fullmatch(item[key])}
    places = {
        key
        for key in keys
        if any(each.fullmatch(_key(key)) for each in (_ADDRESS, _OFFSET, _BASE, _END))
    }
    for item, key in found:
        if key in places:
            item[key] = f"0x{item[key]}"


def _stacks_of_request(
    request: Mapping[str, Any], stack: StackBuilder
) -> dict[str, list[dict[str, Any]]]:
    """The frames of a request, each with the module that its index means."""
    jobs = as_list(request.get("jobs", [request]))
    found: dict[str, list[dict[str, Any]]] = {}
    for number, job in enumerate(jobs):
        if not _has_lists(job, "memoryMap", "stacks"):
            stack.add_note(f"Job {number} has no memoryMap and stacks.")
            continue
        title = f"Job {number}, stack" if len(jobs) > 1 else "Stack"
        entries, code_ids = job["memoryMap"], as_list(job.get("codeIds"))
        if len(code_ids) != len(entries):
            code_ids = [""] * len(entries)
        modules = [
            {"name": each[0], "debug_id": each[1], "code_id": code_id}
            if _is_pair(each, str)
            else {}
            for each, code_id in zip(entries, code_ids, strict=True)
        ]
        stacks = [
            [each for each in as_list(frames) if _is_pair(each, int) and each[1] >= 0]
            for frames in job["stacks"]
        ]
        if stacks != job["stacks"]:
            stack.add_note("Frames that are not pairs of numbers are left out.")
        found[f"{title} modules"] = modules
        found[title] = [
            {
                "frames": [
                    {**modules[index], "offset": offset}
                    if 0 <= index < len(modules) and modules[index]
                    else {"address": offset}
                    for index, offset in frames
                ]
            }
            for frames in stacks
        ]
    return found


def _stacks_of_valgrind(output: Any) -> dict[str, list[Any]]:
    """The stacks of errors, threads and signals, under what is said of them."""
    found: dict[str, list[Any]] = {}
    for kind in ("announcethread", "error", "fatal_signal"):
        errors = _several(as_object(output).get(kind))
        for number, each in enumerate(map(as_object, errors)):
            what = each.get("what") or as_object(each.get("xwhat")).get("text")
            what = what or each.get("signame") or f"thread {each.get('hthreadid')}"
            title = f"{kind.replace('_', ' ')} {number}: {what}, stack"
            found[title] = [
                {"frames": [*map(_frame_of_valgrind, frames)]}
                for stack in _several(each.get("stack"))
                if (frames := _several(as_object(stack).get("frame")))
            ]
    return found


def _frame_of_valgrind(frame: Any) -> dict[str, Any]:
    keys = {"ip": "ip", "module": "obj", "function": "fn"}
    found: dict[str, Any] = {
        key: str(as_object(frame).get(tag, "")) for key, tag in keys.items()
    }
    address = _number(found["ip"]) or 0
    if address in _PROGRAM:
        found["offset"] = address - _PROGRAM.start
    return found


def _several(value: Any) -> list[Any]:
    """The elements of one name, of which there may be any number."""
    if value is None:
        return []
    return value if isinstance(value, list) else [value]


def _is_pair(value: Any, kind: type) -> bool:
    return (
        isinstance(value, list)
        and len(value) == _PAIR
        and all(type(each) is kind for each in value)
    )


def _key(key: str) -> str:
    return key.lower().replace("_", "").replace("-", "")


@lru_cache(1024)  # the objects of a document have few sets of keys
def _keys(kind: re.Pattern[str], keys: tuple[str, ...]) -> Sequence[str]:
    """The values of some keys that are of a kind."""
    found = [key for key in keys if kind.fullmatch(_key(key))]
    if kind is _NAME:
        best = [key for word in _NAMES_BEST for key in found if word in _key(key)]
        found = [*filter(None, dict.fromkeys((*best, *found)))]
    return found


def _number(value: Any) -> int | None:
    """A number, given as one or as digits."""
    if type(value) is int:
        return value if value >= 0 else None
    if not isinstance(value, str):
        return None
    text = value.strip().lower()
    try:
        if text.startswith("0x"):
            return int(text, 16)
        return int(text) if text.isdigit() else None
    except ValueError:
        return None


class _Fields:
    """The fields of an object that say what it is."""

    def __init__(self, item: Mapping[str, Any]) -> None:
        self._item = item
        self._keys = tuple(item)

    def number(self, kind: re.Pattern[str]) -> int | None:
        """The first number whose key is of a kind."""
        for key in _keys(kind, self._keys):
            if (found := _number(self._item[key])) is not None:
                return found
        return None

    def text(self, kind: re.Pattern[str]) -> str:
        """The first text whose key is of a kind, or ""."""
        return next(iter(self.texts(kind)), "")

    def texts(self, kind: re.Pattern[str]) -> Sequence[str]:
        """The texts whose keys are of a kind."""
        values = [self._item[key] for key in _keys(kind, self._keys)]
        texts = [each for each in values if isinstance(each, str) and each]
        if kind is not _CODE_ID:
            return texts
        return [each for each in texts if not _IS_NUMBER.fullmatch(each)]

    def name(self) -> str:
        """The best name of a module, or ""."""
        for key in _keys(_NAME, self._keys):
            value = self._item[key]
            if isinstance(value, str) and value and not SOURCE.search(value):
                return value
        return ""

    def path(self) -> str:
        """The first text that is nothing but the path of a module, or ""."""
        texts = (each for each in self._item.values() if isinstance(each, str))
        return next((each for each in texts if Line(each).only_module == each), "")

    @property
    def is_crashed(self) -> bool:
        """Whether it says that it crashed."""
        return any(self._item[key] is True for key in _keys(_CRASHED, self._keys))


class _Walk:
    """One walk through a document; modules first, as others refer to them."""

    def __init__(self, stack: StackBuilder, region: _Find, form: str) -> None:
        self._stack = stack
        self._is_apple = form == _APPLE
        self._is_valgrind = form == _VALGRIND
        self._is_sure = form in {_APPLE, _REQUEST, _VALGRIND}
        self._region = region
        self._loaded = Regions()
        self._lists: list[list[int]] = []  # modules of each list that has some
        self._by_name: dict[str, int] = {}
        self._crashed: int | None = None

    def add(self, report: Any) -> None:
        """Add all frames of a value."""
        for key, heading in _HEADINGS if self._is_apple else ():
            if isinstance(report.get(key), str):
                self._stack.add_text(f"{heading}: {report[key]}\n")
        items = [*map(_Fields, _objects(report))]
        for fields in items:
            self._read_head(fields)
        for several in _lists(report):
            numbers = [self._module(_Fields(each)) for each in several]
            if any(each != NO_MODULE for each in numbers):
                self._lists.append(numbers)
        for fields in items:
            self._module(fields)
        self._loaded.close()
        for title, several, owner in _frame_lists(report):
            first = int(title == _EXCEPTION)
            frames = [
                self._frame(at, _Fields(each)) for at, each in enumerate(several, first)
            ]
            if self._is_sure or any(each.module != NO_MODULE for each in frames):
                self._begin(title, owner)
                for at, frame in enumerate(frames):
                    self._stack.add_text(f"{at:<4}")
                    self._stack.add_frame(frame)
                    self._stack.add_text("\n")

    def _begin(self, title: str, owner: Mapping[str, Any]) -> None:
        """Begin the stack of an object."""
        fields = _Fields(owner)
        is_crashed = fields.is_crashed or title == f"Thread {self._crashed}"
        self._stack.begin(title, is_crashed)
        if is_crashed:
            state = as_object(owner.get("threadState"))
            self._stack.add_registers(_registers(state), "")
        name = ", ".join(fields.texts(_THREAD_NAME))
        crashed = " crashed" * is_crashed
        self._stack.add_text(f"\n{title}{crashed}:{f'  {name}' if name else ''}\n")

    def _read_head(self, fields: _Fields) -> None:
        if self._crashed is None:
            self._crashed = fields.number(_CRASHED_INDEX)
        reason = " ".join(fields.texts(_REASON))
        if not self._stack.reason and _IS_REASON.match(reason):
            self._stack.reason = reason
            self._stack.add_text(f"Crash reason: {reason}\n")

    def _module(self, fields: _Fields) -> int:
        """The module that an object describes, placed; NO_MODULE if it is none."""
        name = fields.name()
        debug_id, code_id = fields.text(_DEBUG_ID), fields.text(_CODE_ID)
        start = fields.number(_BASE)
        is_moved = start is not None and start % _PAGE == 0
        is_frame = fields.number(_ADDRESS) is not None and not is_moved
        if not name or is_frame or (start is None and not (debug_id or code_id)):
            return NO_MODULE
        return self._place(_identified(name, debug_id, code_id), fields, start)

    def _place(self, module: StackModule, fields: _Fields, start: int | None) -> int:
        number = self._stack.number(module)
        self._by_name.setdefault(module.name, number)
        if start is None or start < _LEAST_START:
            return number
        size, end = fields.number(_SIZE), fields.number(_END) or 0
        if size:
            end = start + size
        if self._loaded.covering(start) is None:
            self._loaded.add(Region(start, end, number, base="image"))
        return number

    def _frame(self, at: int, fields: _Fields) -> StackFrame:
        address, offset = fields.number(_ADDRESS), fields.number(_OFFSET)
        module = self._module_of(fields)
        options: list[StackFrame] = []
        if module != NO_MODULE and offset is not None:
            options.append(StackFrame("", module, offset, "image"))
        found = None
        if address is not None:
            found = self._loaded.region(address) or self._region(address)
        if found is not None:
            options.append(StackFrame("", found.module, found.address, found.base))
        if address is not None and module != NO_MODULE and found is None:
            options.append(StackFrame("", module, address, "either"))
        symbol = valid_text(fields.text(_FUNCTION))
        if not options:
            options.append(StackFrame("", NO_MODULE, address or offset or 0, "either"))
        place = f"{address if address is not None else offset or 0:#x}"
        if self._is_sure:  # of the module and of what is a return address
            is_return = self._is_apple and at > 0
            known = options[0]._replace(text=symbol or place, is_return=is_return)
            if not self._is_valgrind:
                return known
            # Named functions tell where modules were loaded; valgrind has subtracted 1
            # from return addresses.
            return known._replace(symbol=symbol, may_return=True)
        return options[0]._replace(
            text=symbol or place,
            others=tuple(options[1:]),
            symbol=symbol,
            may_return=at > 0 or fields.text(_TRUST) != "context",
            may_be_exact=True,
        )

    def _module_of(self, fields: _Fields) -> int:
        index = fields.number(_INDEX)
        if index is not None:
            for numbers in self._lists:
                if index < len(numbers) and numbers[index] != NO_MODULE:
                    return numbers[index]
        after = _IN_BRACKETS.search(fields.text(_FUNCTION))  # of Node.js: `main [node]`
        name = fields.name() or (after[1] if after else fields.path())
        if not name:
            return NO_MODULE
        code_id = fields.text(_CODE_ID)
        debug_id = fields.text(_DEBUG_ID)
        if code_id or debug_id:
            return self._stack.number(_identified(name, debug_id, code_id))
        known = self._by_name.get(file_name(name))
        return self._stack.number(module_of_path(name)) if known is None else known


def _registers(state: Mapping[str, Any]) -> Iterator[tuple[str, int]]:
    """The registers of a thread, by the names that those of dumps have."""
    numbered = {f"x{at}": each for at, each in enumerate(as_list(state.get("x")))}
    for key, each in (numbered | dict(state)).items():
        value = as_object(each).get("value")
        if type(value) is int and 0 <= value <= UINT64_MAX:
            yield _REGISTER_NAMES.get(key, key), value


def _identified(name: str, debug_id: str, code_id: str) -> StackModule:
    """A module with the ids of it; a UUID is a debug id if it is of their size."""
    if "-" in code_id and not debug_id:
        debug_id, code_id = code_id, ""
    return module_of_ids(name, file_name(name), debug_id, code_id)


def _objects(report: Any) -> Iterator[dict[str, Any]]:
    """All objects in a value, in its order."""
    return (item for item, _ in _titled_objects(report, ""))


def _titled_objects(report: Any, title: str) -> Iterator[tuple[dict[str, Any], str]]:
    """All objects in a value with what they are called: their keys and indexes."""
    left = [(report, title)]
    while left:
        item, name = left.pop()
        first = len(left)
        if isinstance(item, dict):
            yield item, name
            left += [
                (each, str(key))
                for key, each in item.items()
                if isinstance(each, (dict, list))
            ]
        elif isinstance(item, list):
            one = "Thread" if name.lower() == "threads" else name
            left += [
                (each, f"{one} {at}")
                for at, each in enumerate(item)
                if isinstance(each, (dict, list))
            ]
        left[first:] = left[:first:-1] + left[first : first + 1]


def _lists(report: Any) -> Iterator[list[dict[str, Any]]]:
    """All lists of objects in the values of objects."""
    for item in _objects({"": report}):
        for value in item.values():
            if isinstance(value, list) and value and isinstance(value[0], dict):
                yield [each if isinstance(each, dict) else {} for each in value]


def _is_frame(item: Mapping[str, Any]) -> bool:
    fields = _Fields(item)
    has_module = fields.number(_INDEX) is not None or bool(fields.name())
    has_offset = fields.number(_OFFSET) is not None and has_module
    return has_offset or fields.number(_ADDRESS) is not None


def _frame_lists(
    report: Any,
) -> Iterator[tuple[str, list[dict[str, Any]], dict[str, Any]]]:
    """Lists of frames, with their keys and the objects that have them.

    Frames may be nested: each has those that it called, or its callers.
    """
    seen: set[int] = set()
    for item, title in _titled_objects(report, "Stack"):
        if id(item) in seen:
            continue
        for key, value in item.items():
            items = value if isinstance(value, list) else [value]
            frames = [each for each in items if isinstance(each, dict)]
            if not frames or not _is_frame(frames[0]):
                continue
            nested = [
                each
                for root in frames
                for each in (root, *_objects(root))
                if each is root or _is_frame(each)
            ]
            fresh = [
                *{id(each): each for each in nested if id(each) not in seen}.values()
            ]
            seen.update(map(id, nested))
            if fresh:
                is_exception = key == "lastExceptionBacktrace"
                yield _EXCEPTION if is_exception else title or str(key), fresh, item
