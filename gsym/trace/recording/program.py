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
from types import ModuleType

from gsym.errors import GsymError
from gsym.trace.recording._calls import CallRecorder
from gsym.trace.recording.process_trace import COMPLETE

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


# These run the program and are not part of it.
_EXCLUDED = ("gsym.trace.*", "gsym.cli.*", "runpy")


class FunctionCalls(CallRecorder):
    """Records calls in a tracer from `start` to `stop`.

    The base, in C, keeps the open calls of each thread and writes common records; it
    calls the public methods here for all that is rare.

    Args:
        tracer: Writes the trace.
        modules: Patterns of modules whose functions are wanted; none: all.
        excluded: Patterns of modules whose functions are not.
        minimum: Shorter calls are left out, in nanoseconds.
    """

    def __init__(
        self,
        tracer: Tracer,
        modules: Sequence[str] = (),
        excluded: Sequence[str] = (),
        minimum: int = 0,
    ) -> None:
        self.minimum = minimum
        self._tracer = tracer
        self._modules = tuple(modules)
        self._excluded = (*excluded, *_EXCLUDED)

    def start(self) -> None:
        """Begin.

        Raises:
            GsymError: The interpreter lock, which guards the base, is off.
            ValueError: Another profiler is active.
        """
        # Importing the base has switched it on, unless it was forbidden.
        if not getattr(sys, "_is_gil_enabled", lambda: True)():
            remedy = "remove PYTHON_GIL=0 or -X gil=0"
            raise GsymError(
                f"calls are recorded only with the interpreter lock: {remedy}"
            )
        self.write_to(self._tracer.process.output.records)
        self._tracer.calls = self
        monitoring = getattr(sys, "monitoring", None)
        if monitoring is None:
            threading.setprofile(self)
            sys.setprofile(self)
            return
        tool, events = monitoring.PROFILER_ID, monitoring.events
        monitoring.use_tool_id(tool, "gsym")
        self.disable = monitoring.DISABLE
        callbacks = {
            events.PY_START: self.monitor_begin,
            events.PY_RESUME: self.monitor_begin,
            events.PY_RETURN: self.monitor_end,
            events.PY_YIELD: self.monitor_end,
            # These two cannot be switched off for some code only.
            events.PY_THROW: self.monitor_throw,
            events.PY_UNWIND: self.monitor_unwind,
        }
        for event, callback in callbacks.items():
            monitoring.register_callback(tool, event, callback)
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
        self.is_stopped = True  # other threads go on
        self.hand_over()

    def describe(self, code: CodeType) -> tuple[int, ...] | None:
        """The words of calls of a function that runs; none if they vary.

        None if its calls are not wanted.
        """
        module, name, args = _event_of(code, sys._getframe(1))  # noqa: SLF001 - its frame
        is_wanted = not self._modules or _fits(module, self._modules)
        if not is_wanted or _fits(module, self._excluded):
            return None
        return self._tracer.process.call_words(module, name, args) or ()

    def enter_thread(self) -> int:
        """The index of this thread in the table; 0 if that is full."""
        return self._tracer.process.current.index

    def write_call(self, code: CodeType, begin: int, end: int) -> None:
        """Write a call whose words vary, of a function that runs."""
        module, name, args = _event_of(code, sys._getframe(1))  # noqa: SLF001 - its frame
        self._tracer.process.event(COMPLETE, module, name, begin, args, end)

    def flush(self, now: int) -> None:
        """Write the blocks."""
        self._tracer.process.output.flush(now)


def _event_of(code: CodeType, frame: FrameType) -> tuple[str, str, dict[str, Any]]:
    """The category, name and arguments of the calls of a function."""
    module = str(frame.f_globals.get("__name__", ""))
    name: str = getattr(code, "co_qualname", code.co_name)  # from Python 3.11
    return module, name, {"file": code.co_filename, "line": code.co_firstlineno}


def _fits(module: str, patterns: Sequence[str]) -> bool:
    """Whether a module, or a package that it is of, fits a pattern."""
    parts = module.split(".")
    names = [".".join(parts[: count + 1]) for count in range(len(parts))]
    return any(fnmatchcase(name, pattern) for name in names for pattern in patterns)
