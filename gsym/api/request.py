"""Bodies of symbolication requests -> valid jobs.

The checks, their order and their messages are those of Mozilla's server, for its
clients, but that a module or job of version 5 that is invalid does not refuse the
others. Input that it answers with status 500 is refused here with a message, and so is
some input that it accepts: a name or id with a newline at its end, `true` as a number,
`jobs` that are not a list, text that is not UTF-8 or begins with a byte order mark. Of
duplicate keys in an object the last one is used.
"""

from __future__ import annotations

import json
import re
from itertools import chain
from typing import Annotated, Any, NoReturn, TypeVar

import msgspec
from msgspec import Meta

from gsym.errors import GsymError
from gsym.model import UINT64_END
from gsym.reading.named_address import split_name

Fields = TypeVar("Fields")
_NAME = re.compile(r"[A-Za-z0-9_.+{}@<> ~-]*")
_WIDE_NAME = re.compile(r"[A-Za-z0-9_.+{}@<> ~:\[\]-]*")
# Version 5: the Firefox Profiler sends names of all systems.
_ANY_NAME = re.compile(r"[^/\\%'\"$*?|\x00-\x1f\x7f\ud800-\udfff]*")
_ID = re.compile(r"[A-Fa-f0-9]*")
_RETURNS = frozenset({"all", "callers"})
_PAIR = 2  # items of a module and of a frame
# Limit: Function and offset of a frame of a request
_LONGEST_NAME = 1 << 12
_BAD_REQUEST = 400
_TOO_LARGE = 413


class RequestLimits(msgspec.Struct, frozen=True):
    """Limits of one request."""

    jobs: int = 10  # number of jobs
    frames: int = 1_000_000  # number of frames in all stacks of all jobs
    modules: int = 10_000  # number of modules of all jobs
    # whether names of modules of version 4 may contain `[`, `]` and `:`, as those of
    # the Linux kernel do; samply accepts them
    wide_names: bool = False


class Stack(msgspec.Struct, frozen=True):
    """Frames, as columns."""

    modules: list[int]  # index of the module of each frame, or -1
    offsets: list[int]  # from the base of the module; -1 if unknown, or named
    # of frames given as `kernel+0x40`, by index: the function, and the offset in it
    named: dict[int, tuple[str, int]] = {}


class Job(msgspec.Struct, frozen=True):
    """Stacks and their modules."""

    modules: list[tuple[str, str]]  # debug file and debug id of each
    stacks: list[Stack]  # the stacks to symbolicate
    # code id of each module, "" if it is not known; empty if none is
    code_ids: list[str] = []
    problems: dict[int, str] = {}  # by module: why it is not looked up
    error: str = ""  # why the job is not answered


class RequestError(GsymError):
    """The request is invalid or too large, or what it asks for does not exist.

    Attributes:
        status: HTTP status of the answer.
        kind: The word that statistics count it by; "" if they do not.
    """

    def __init__(
        self, reason: str, status: int = _BAD_REQUEST, *, kind: str = ""
    ) -> None:
        super().__init__(reason)
        self.status = status
        self.kind = kind


def read_v5(body: bytes, limits: RequestLimits) -> list[Job]:
    """The jobs of a request to `/symbolicate/v5`.

    Raises:
        RequestError: No job of it is valid, or it exceeds a limit.
    """
    payload = _decode(body)
    if type(payload) is not dict or "jobs" not in payload:
        return _check_jobs([payload], limits, answers_rest=True)
    jobs = payload["jobs"]
    if type(jobs) in {list, str, dict} and len(jobs) > limits.jobs:
        raise RequestError(
            f"please limit number of jobs in a single request to <= {limits.jobs}",
            kind="too_many_jobs",
        )
    if type(jobs) is not list:
        if type(jobs) in {str, dict} and jobs:
            _refuse("job 0 is invalid")
        _refuse("jobs must be a list")
    return _check_jobs(jobs, limits, answers_rest=True)


def read_v4(body: bytes, limits: RequestLimits) -> list[Job]:
    """The one job of a request to `/symbolicate/v4`.

    Raises:
        RequestError: It is invalid, or exceeds a limit.
    """
    return _check_jobs([_decode(body)], limits)


def _decode(body: bytes) -> Any:
    try:
        return msgspec.json.decode(body)
    except RecursionError:
        pass
    except (msgspec.MsgspecError, UnicodeDecodeError):
        # Common extensions of JSON, such as NaN, get a more specific error later.
        try:
            return json.loads(body.decode())
        except (ValueError, RecursionError):
            pass
    raise RequestError("Payload is not valid JSON", kind="bad_json")


def _check_jobs(
    jobs: list[Any], limits: RequestLimits, *, answers_rest: bool = False
) -> list[Job]:
    """Check all jobs; with *answers_rest* only those that are not valid are refused."""
    left = _Left(limits)
    checked: list[Job] = []
    errors: list[RequestError] = []
    for number, job in enumerate(jobs):
        try:
            checked.append(_check_job(job, number, left, answers_rest=answers_rest))
        except RequestError as error:  # noqa: PERF203 - the others are answered
            errors.append(error)
            if not answers_rest or error.status != _BAD_REQUEST:
                raise
            checked.append(Job([], [], error=error.reason))
    if errors and len(errors) == len(jobs):
        raise errors[0]
    return checked


class _Left:
    """Rest of the frames and modules that a request may have."""

    def __init__(self, limits: RequestLimits) -> None:
        self.limits = limits
        self.frames, self.modules = limits.frames, limits.modules


def _check_job(job: Any, number: int, left: _Left, *, answers_rest: bool) -> Job:
    if type(job) is not dict:
        _refuse(f"job {number} is invalid")
    if "stacks" not in job:
        _refuse(f"job {number} is invalid: no stacks specified")
    if "memoryMap" not in job:
        _refuse(f"job {number} is invalid: no memoryMap specified")
    modules, stacks = job["memoryMap"], job["stacks"]
    code_ids = job.get("codeIds", [])
    left.modules -= len(modules) if type(modules) is list else 0
    _check_left(left.modules, "modules", left.limits.modules)
    error = _list_error(code_ids, modules)
    names = _WIDE_NAME if left.limits.wide_names else _NAME
    names = _ANY_NAME if answers_rest else names
    problems = {} if error else _problems(modules, code_ids, names)
    if not answers_rest:
        error = error or next(iter(problems.values()), "")
    if error:
        raise RequestError(
            f"job {number} has invalid modules: {error}", kind="invalid_modules"
        )
    if problems:
        pairs = (
            module if type(module) is list and len(module) == _PAIR else ["", ""]
            for module in modules
        )
        modules = [[each if type(each) is str else "" for each in p] for p in pairs]
        code_ids = [
            "" if at in problems else code_id for at, code_id in enumerate(code_ids)
        ]
    returns = job.get("returnAddresses")
    if returns is not None and (type(returns) is not str or returns not in _RETURNS):
        _refuse(f'job {number} is invalid: returnAddresses must be "all" or "callers"')
    lists = stacks if type(stacks) is list else []
    left.frames -= sum([len(stack) for stack in lists if type(stack) is list])
    _check_left(left.frames, "frames", left.limits.frames)
    stacks = _check_stacks(stacks, len(modules), number, takes_names=answers_rest)
    if returns is not None:
        for stack in stacks:
            _take_as_returns(stack, 1 if returns == "callers" else 0)
    return Job(modules, stacks, code_ids, problems)


def _take_as_returns(stack: Stack, first: int) -> None:
    """Move the offsets of frames from *first* on to the calls before them."""
    calls = [each - 1 if each > 0 else each for each in stack.offsets[first:]]
    stack.offsets[first:] = calls
    for at, (name, offset) in stack.named.items():
        if at >= first:
            stack.named[at] = name, offset - 1


def _refuse(title: str) -> NoReturn:
    raise RequestError(title, kind="invalid_job")


def _check_left(left: int, what: str, limit: int) -> None:
    if left < 0:
        raise RequestError(
            f"please limit number of {what} in a single request to <= {limit}",
            _TOO_LARGE,
            kind=f"too_many_{what}",
        )


def _list_error(code_ids: Any, modules: Any) -> str:
    """The error in the lists of the modules of a job, or ""."""
    if type(modules) is not list:
        return "modules must be a list"
    is_list = type(code_ids) is list and len(code_ids) in {0, len(modules)}
    return "" if is_list else "codeIds must be a list with an id for each module"


def _problems(
    modules: list[Any], code_ids: list[Any], names: re.Pattern[str]
) -> dict[int, str]:
    """The errors in modules, by index."""
    is_name, is_id = names.fullmatch, _ID.fullmatch
    found: dict[int, str] = {}
    for at, module in enumerate(modules):
        if type(module) is not list or len(module) != _PAIR:
            found[at] = f"module index {at} does not have a debug_filename and debug_id"
            continue
        name, debug_id = module
        if type(name) is not str or not is_name(name):
            found[at] = f"module index {at} has an invalid debug_filename"
        elif type(debug_id) is not str or not is_id(debug_id):
            found[at] = f"module index {at} has an invalid debug_id"
    for at, code_id in enumerate(code_ids):
        if type(code_id) is not str or not is_id(code_id):
            found.setdefault(at, f"module index {at} has an invalid code id")
    return found


def _check_stacks(
    stacks: Any, module_count: int, job: int, *, takes_names: bool
) -> list[Stack]:
    fault = ""
    checked = []
    if type(stacks) is not list:
        fault = "stacks must be a list of lists"
    elif not stacks:
        fault = "no stacks specified"
    else:
        for at, stack in enumerate(stacks):
            named = _take_names(stack) if takes_names else {}
            columns = _columns(stack, module_count, named)
            if columns is None:
                fault = f"stack {at} {_stack_error(stack, module_count)}"
                break
            checked.append(columns)
    if fault:
        raise RequestError(
            f"job {job} has invalid stacks: {fault}", kind="invalid_stacks"
        )
    return checked


def _take_names(stack: Any) -> dict[int, tuple[str, int]]:
    """Replace texts such as `kernel+0x40` by -1; return functions and offsets."""
    named = {}
    for at, frame in enumerate(stack) if type(stack) is list else ():
        if type(frame) is list and len(frame) == _PAIR and type(frame[1]) is str:
            found = split_name(frame[1]) if len(frame[1]) <= _LONGEST_NAME else None
            if found is not None:
                named[at], frame[1] = found, -1
    return named


def _columns(
    stack: Any, module_count: int, named: dict[int, tuple[str, int]]
) -> Stack | None:
    """A stack as columns; None if it is invalid."""
    if type(stack) is not list:
        return None
    if not stack:
        return Stack([], [])
    # Checking columns is faster than checking frame by frame.
    is_of_pairs = {*map(type, stack)} == {list} and {*map(len, stack)} == {_PAIR}
    flat = [*chain.from_iterable(stack)] if is_of_pairs else []
    if {*map(type, flat)} != {int}:
        return None
    modules, offsets = flat[::2], flat[1::2]
    is_known = min(modules) >= -1 and max(modules) < module_count
    if is_known and min(offsets) >= -1 and max(offsets) < UINT64_END:
        return Stack(modules, offsets, named)
    return None


def _stack_error(stack: Any, module_count: int) -> str:
    """The error in an invalid stack."""
    if type(stack) is not list:
        return "is not a list"
    for at, frame in enumerate(stack):
        if type(frame) is not list or len(frame) != _PAIR:
            return f"frame {at} is not a list of two items"
        index, offset = frame
        if type(index) is not int:  # bool is a subclass
            return f"frame {at} has an invalid module_index"
        if not -1 <= index < module_count:
            return f"frame {at} has a module_index that isn't in modules"
        if type(offset) is not int or not -1 <= offset < UINT64_END:
            return f"frame {at} has an invalid module_offset"
    raise AssertionError("a valid stack")


_LONGEST_NUMBER = 18  # characters: 0x and 64 bits
# Texts whose form `decode_request` does not check.
Number = Annotated[str, Meta(extra_json_schema={"pattern": "^0x[0-9a-fA-F]{1,16}$"})]
DebugId = Annotated[str, Meta(extra_json_schema={"pattern": "^[0-9A-F]{33}$"})]


def decode_request(body: bytes, kind: type[Fields]) -> Fields:
    """The fields of a request; unknown ones are ignored."""
    try:
        return msgspec.json.decode(body, type=kind)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise RequestError(f"Couldn't parse request: {error}") from None


def read_number(text: str, name: str) -> int:
    """A number given as text with a prefix 0x."""
    digits = text.removeprefix("0x")
    if digits == text or len(text) > _LONGEST_NUMBER or not digits.isalnum():
        digits = ""
    try:
        return int(digits, 16)
    except ValueError:
        reason = f"Couldn't parse request: {name} is not a 0x number"
        raise RequestError(reason) from None
