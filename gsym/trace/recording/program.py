"""Run a Python program in this process and record its calls.

From Python 3.12 on `sys.monitoring` reports calls, and can be switched off for single
functions; before, `sys.setprofile` reports all. A generator is a duration each time it
runs. The category is the module; file and line of the function are arguments.
"""

from __future__ import annotations

import builtins
import importlib.util
import io
import os
import runpy
import sys
import threading
from fnmatch import fnmatchcase
from importlib.machinery import SourceFileLoader
from time import monotonic_ns
from types import ModuleType

from gsym.errors import GsymError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from types import CodeType, FrameType, TracebackType
    from typing import Any

    from gsym.trace.recording.tracer import Tracer


_OWN_FILES = (__file__, runpy.__file__, "<frozen runpy>")


def run_script(path: str, arguments: Sequence[str]) -> int:
    """Run a script, or a folder or archive with `__main__.py`; the exit status.

    Raises:
        KeyboardInterrupt: The program was interrupted; its traceback is printed.
        OSError: The script cannot be read.
    """
    sys.argv[:] = [path, *arguments]
    if not os.path.isfile(path) or path.endswith((".zip", ".pyz")):
        return _status_of(lambda: runpy.run_path(path, run_name="__main__"))
    _set_first_path(os.path.dirname(os.path.realpath(path)))
    path = os.path.abspath(path)
    with io.open_code(path) as file:
        source = file.read()
    module = ModuleType("__main__")
    sys.modules["__main__"] = module
    names = module.__dict__
    names["__builtins__"] = builtins
    names["__file__"] = path
    names["__cached__"] = None
    names["__loader__"] = SourceFileLoader("__main__", path)

    def run() -> None:
        exec(compile(source, path, "exec", dont_inherit=True), names)  # noqa: S102 - the task

    return _status_of(run)


def run_module(name: str, arguments: Sequence[str]) -> int:
    """Run a module, as `python -m` does; the exit status.

    Raises:
        GsymError: The module is not found.
        KeyboardInterrupt: The program was interrupted; its traceback is printed.
    """
    sys.argv[:] = [name, *arguments]
    _set_first_path(os.getcwd())
    try:
        found = importlib.util.find_spec(name)
    except (ImportError, ValueError) as error:
        raise GsymError(f"no module '{name}': {error}") from None
    if found is None:
        raise GsymError(f"no module '{name}'")
    return _status_of(
        lambda: runpy.run_module(name, run_name="__main__", alter_sys=True)
    )


def _set_first_path(folder: str) -> None:
    if not getattr(sys.flags, "safe_path", False):
        sys.path[0] = folder


def _status_of(run: Callable[[], object]) -> int:
    """The exit status that `python` ends with."""
    try:
        run()
    except SystemExit as end:
        if end.code is None or isinstance(end.code, int):
            return end.code or 0
        sys.stderr.write(f"{end.code}\n")
        return 1
    except KeyboardInterrupt as error:
        _print(error)
        raise
    except BaseException as error:  # noqa: BLE001 - whatever the program raises
        _print(error)
        return 1
    return 0


def _print(error: BaseException) -> None:
    """Print the traceback of a program, without what runs it."""
    traceback: TracebackType | None = error.__traceback__
    while traceback and traceback.tb_frame.f_code.co_filename in _OWN_FILES:
        traceback = traceback.tb_next
    sys.excepthook(type(error), error.with_traceback(traceback), traceback)


_MOST_FUNCTIONS = 1 << 16
# These run the program and are not part of it.
_EXCLUDED = ("gsym.trace.*", "gsym.cli.*", "runpy")


class FunctionCalls:
    """Records calls in a tracer from `start` to `stop`.

    Args:
        tracer: Writes the trace.
        modules: Patterns of modules whose functions are wanted; none: all.
        excluded: Patterns of modules whose functions are not.
        minimum: Shorter calls are left out, in nanoseconds.

    Attributes:
        left_out: How many calls were shorter.
    """

    def __init__(
        self,
        tracer: Tracer,
        modules: Sequence[str] = (),
        excluded: Sequence[str] = (),
        minimum: int = 0,
    ) -> None:
        self.left_out = 0
        self._tracer = tracer
        self._modules = tuple(modules)
        self._excluded = (*excluded, *_EXCLUDED)
        self._minimum = minimum
        self._stacks = _Stacks()
        # By id, for code is compared by all that it holds.
        self._functions: dict[int, _Function] = {}

    def start(self) -> None:
        """Begin.

        Raises:
            ValueError: Another profiler is active.
        """
        monitoring = getattr(sys, "monitoring", None)
        if monitoring is None:
            threading.setprofile(self._profile)
            sys.setprofile(self._profile)
            return
        tool, events = monitoring.PROFILER_ID, monitoring.events
        monitoring.use_tool_id(tool, "gsym")
        callbacks = {
            events.PY_START: self._monitor_begin,
            events.PY_RESUME: self._monitor_begin,
            events.PY_RETURN: self._monitor_end,
            events.PY_YIELD: self._monitor_end,
            # These two cannot be switched off for some code only.
            events.PY_THROW: self._monitor_throw,
            events.PY_UNWIND: self._monitor_unwind,
        }
        for event, callback in callbacks.items():
            monitoring.register_callback(tool, event, callback)
        self._disable = monitoring.DISABLE
        monitoring.set_events(tool, sum(callbacks))

    def stop(self) -> None:
        """Stop. Calls that have not ended are not recorded."""
        monitoring = getattr(sys, "monitoring", None)
        if monitoring is None:
            sys.setprofile(None)
            threading.setprofile(None)
        elif monitoring.get_tool(monitoring.PROFILER_ID) == "gsym":
            monitoring.set_events(monitoring.PROFILER_ID, 0)
            monitoring.free_tool_id(monitoring.PROFILER_ID)

    def _profile(self, frame: FrameType, event: str, _argument: object) -> None:
        if event == "call":
            if self._is_wanted(frame.f_code, frame):
                self._stacks.stack.append((frame.f_code, monotonic_ns()))
        elif event == "return" and self._is_wanted(frame.f_code, frame):
            self._end(frame.f_code)

    def _monitor_begin(self, code: CodeType, _offset: int) -> Any:
        function = self._functions.get(id(code))
        if (
            function.is_wanted
            if function is not None
            else self._is_wanted(code, sys._getframe(1))  # noqa: SLF001 - the caller
        ):
            self._stacks.stack.append((code, monotonic_ns()))
            return None
        return self._disable

    def _monitor_end(self, code: CodeType, _offset: int, _value: object) -> Any:
        if self._is_wanted(code, sys._getframe(1)):  # noqa: SLF001 - the caller
            self._end(code)
            return None
        return self._disable

    def _monitor_throw(self, code: CodeType, _offset: int, _error: object) -> None:
        if self._is_wanted(code, sys._getframe(1)):  # noqa: SLF001 - the caller
            self._stacks.stack.append((code, monotonic_ns()))

    def _monitor_unwind(self, code: CodeType, _offset: int, _error: object) -> None:
        if self._is_wanted(code, sys._getframe(1)):  # noqa: SLF001 - the caller
            self._end(code)

    def _end(self, code: CodeType) -> None:
        """The innermost call of a function ends."""
        end = monotonic_ns()
        stack = self._stacks.stack
        if not stack or stack[-1][0] is not code:
            # It began before all this; or calls in it have no end, as with greenlets.
            known = [entry[0] is code for entry in stack]
            if not any(known):
                return
            del stack[len(known) - known[::-1].index(True) :]
        begin = stack.pop()[1]
        if end - begin < self._minimum:
            self.left_out += 1
            return
        function = self._functions[id(code)]
        self._tracer.process.call(
            id(code), function.module, function.name, begin, end, function.args
        )

    def _is_wanted(self, code: CodeType, frame: FrameType) -> bool:
        function = self._functions.get(id(code))
        if function is None:
            module = str(frame.f_globals.get("__name__", ""))
            is_wanted = not self._modules or _fits(module, self._modules)
            is_wanted = is_wanted and not _fits(module, self._excluded)
            if len(self._functions) > _MOST_FUNCTIONS:
                is_wanted = False
            else:
                self._functions[id(code)] = _Function(code, module, is_wanted=is_wanted)
            return is_wanted
        return function.is_wanted


class _Function:
    """The data of events for the calls of a function.

    Attributes:
        code: Kept, so that its id stays its own.
        module: Its module.
        name: Its name within that.
        args: Arguments of its events.
        is_wanted: Whether its calls are recorded.
    """

    __slots__ = ("args", "code", "is_wanted", "module", "name")

    def __init__(self, code: CodeType, module: str, *, is_wanted: bool) -> None:
        self.code = code
        self.module = module
        self.name: str = getattr(code, "co_qualname", code.co_name)  # from Python 3.11
        self.args = {"file": code.co_filename, "line": code.co_firstlineno}
        self.is_wanted = is_wanted


class _Stacks(threading.local):
    """The calls of each thread that go on, each with its begin."""

    def __init__(self) -> None:
        self.stack: list[tuple[CodeType, int]] = []


def _fits(module: str, patterns: Sequence[str]) -> bool:
    """Whether a module, or a package that it is of, fits a pattern."""
    parts = module.split(".")
    names = [".".join(parts[: count + 1]) for count in range(len(parts))]
    return any(fnmatchcase(name, pattern) for name in names for pattern in patterns)
