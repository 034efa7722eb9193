"""Runs a Python program within this process, as `python` itself runs it."""

from __future__ import annotations

import builtins
import importlib.util
import io
import os
import runpy
import sys
from importlib.machinery import SourceFileLoader
from types import ModuleType

from gsym.errors import GsymError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from types import TracebackType

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
        GsymError: There is no such module.
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
