"""Calls drawn from all public functions, each with one wrong argument.

No message is one that needs a look at the code: those of Python's own operations, such
as "has no attribute". What the table of `test_arguments.py` has also has the name of
the argument, its value and what was expected.
"""

from __future__ import annotations

import inspect
import os
import re
import types
import typing
from random import Random
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

import gsym
from tests.creations import create

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

pytestmark = pytest.mark.no_engine

DATA = create([gsym.FunctionInfo(0x1000, 0x10, "main")])
KEY = gsym.ModuleKey("a", "0" * 33)
WRONG = (7, -1, 1.5, "text", b"bytes", [7], object(), None, {"a": 7})
# A right value for each required parameter, by its name.
RIGHT: dict[str, Any] = {
    **dict.fromkeys(("path", "binary", "executable", "gsym_path"), "app.gsym"),
    **dict.fromkeys(("store", "source", "text"), "store"),
    "address": 0x1000,
    "addresses": [0x1000],
    "index": 0,
    "line": 3,
    "offset": 0,
    "input": "app.sym",
    "inputs": ["app.gsym"],
    "output": "out",
    "output_dir": "dir",
    "data": DATA,
    "name": "main",
    "key": KEY,
    "identity": KEY,
    "asked": [(KEY, 0)],
    "build_id": b"12345678",
    "debug_file": "a",
    "debug_id": "0" * 33,
    "pid": 1,
    "report": "#0 0x1000",
    "server": "http://127.0.0.1:1",
    "frames": "innermost",
    "symbolizer": "store",
    "slot": "a",
    "path_map": str,
}
OBSCURE = re.compile(
    "has no attribute|unhashable|not supported between|not iterable|is required"
    "|not enough values|must be str|expected str, bytes|convert negative"
)
# Objects whose methods are called.
MADE: dict[str, Callable[[], Any]] = {
    "Creator": gsym.Creator,
    "Frames": lambda: gsym.Reader(DATA).lookup_many([0x1000]),
    "Reader": lambda: gsym.Reader(DATA),
    "Report": lambda: gsym.symbolicate("#0 0x1000"),
    "Resolver": lambda: gsym.Resolver("store"),
    "Store": lambda: gsym.Store("store"),
    "Symbolizer": lambda: gsym.Symbolizer("store"),
}
# Callbacks, and what only other parts of the package pass.
OTHERS = {"shown", "indent", "path_map", "by_pages", "wanted", "progress"}


class WrongCall(NamedTuple):
    """A public function, one of its parameters, a value of another type."""

    function: str
    parameter: str
    value: object


def functions() -> Iterator[tuple[str, Any]]:
    """The public functions, constructors and methods."""
    for name in gsym.__all__:
        public = getattr(gsym, name)
        is_record = isinstance(public, type) and issubclass(public, (tuple, Exception))
        if not is_record and name not in {"Frames", "FileId", "Tracer"}:
            is_class = isinstance(public, type)
            yield name, vars(public)["__init__"] if is_class else public
        for method, each in vars(public).items() if name in MADE else ():
            if not method.startswith("_") and inspect.isfunction(each):
                yield f"{name}.{method}", each


def parameters(function: Callable[..., object]) -> list[inspect.Parameter]:
    """Parameters with names."""
    variadic = {inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD}
    found = inspect.signature(function).parameters.values()
    return [each for each in found if each.name != "self" and each.kind not in variadic]


def takes(hint: Any, value: object) -> bool:  # noqa: ANN401 - of any parameter
    """Whether a value may be one of a hint."""
    origin = typing.get_origin(hint)
    if origin in {typing.Union, types.UnionType}:
        return any(takes(each, value) for each in typing.get_args(hint))
    kind = origin or hint
    if kind is float:
        kind = (int, float)
    if not isinstance(kind, (type, tuple)) or getattr(kind, "_is_protocol", False):
        return kind is not None or value is None
    try:
        return isinstance(value, kind)
    except TypeError:
        return True


def wrong_calls() -> list[WrongCall]:
    """All of them."""
    found = []
    for name, function in functions():
        hints = typing.get_type_hints(function)
        for each in parameters(function):
            hint = hints.get(each.name, Any)
            if each.name not in OTHERS:
                values = (value for value in WRONG if not takes(hint, value))
                found += [WrongCall(name, each.name, value) for value in values]
    return found


ALL = wrong_calls()
DRAWN = Random(43).sample(ALL, 200)  # noqa: S311 - no secret


def message(call: WrongCall) -> str:
    """The message of the error; "" for none."""
    owner, _, method = call.function.partition(".")
    function = getattr(MADE[owner](), method) if method else getattr(gsym, owner)
    given = {
        each.name: RIGHT.get(each.name, 1)
        for each in parameters(function)
        if each.default is each.empty
    }
    try:
        found = function(**given | {call.parameter: call.value})
        if inspect.isgenerator(found):
            for _ in found:
                pass
    except (gsym.GsymError, OSError):
        return ""  # of the files, which the call began to read
    except Exception as error:  # noqa: BLE001 - whatever it is
        return f"{type(error).__name__}: {error}"
    return ""


@pytest.fixture(autouse=True)
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for variable in ("GSYM_STORE", "GSYM_CACHE_DIR"):
        monkeypatch.setenv(variable, os.fspath(tmp_path / variable))
    (tmp_path / "app.gsym").write_bytes(DATA)
    (tmp_path / "app.sym").write_text("MODULE Linux x86_64 0 a\nFUNC 1000 10 0 f\n")
    gsym.Store("store")


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("call", DRAWN, ids=lambda call: f"{call.function}-{call[1]}")
def test_a_message_needs_no_look_at_the_code(call: WrongCall) -> None:
    assert not OBSCURE.search(message(call)), call


def test_the_calls_are_many() -> None:
    assert len(ALL) > 1000
    assert len({call.function for call in DRAWN}) > 40
