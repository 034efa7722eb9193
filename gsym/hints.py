"""Type hints of public functions and records, evaluated when somebody reads them.

In this package hints are strings, and what only hints need is imported below `if
TYPE_CHECKING:`, as each import lengthens the start of a process. Libraries that read
hints of a running program (pydantic, FastAPI) get types nevertheless: `__annotations__`
evaluates a hint when it is read first, with the names that stand there.
"""

from __future__ import annotations

import sys
import typing
from types import FunctionType, ModuleType
from typing import Any

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


def provide_hints(module: ModuleType) -> None:
    """Evaluate hints of what *module* defines when somebody reads them."""
    if "_hint_names" in vars(module):
        return
    names = vars(module)["_hint_names"] = _Names(module)
    for value in list(vars(module).values()):
        if getattr(value, "__module__", None) == module.__name__:
            for owner in _owners(value):
                owner.__annotations__ = _Hints(owner.__annotations__, names)
            _provide_hints_of(getattr(value, "__mro__", ()))


def _provide_hints_of(values: Iterable[object]) -> None:
    """Provide hints in the modules of this package that define *values*."""
    for name in {str(getattr(each, "__module__", "")) for each in values}:
        if name.startswith("gsym.") and name in sys.modules:
            provide_hints(sys.modules[name])


def _owners(value: object) -> Iterator[Any]:
    """Yield what has hints: a function, or a class and its methods."""
    if isinstance(value, FunctionType):
        yield value
    elif isinstance(value, type):
        if vars(value).get("__annotations__"):
            yield value
        for each in vars(value).values():
            method = getattr(each, "fget", None) or getattr(each, "__func__", each)
            if isinstance(method, FunctionType):
                yield method


class _Hints(dict[str, Any]):
    """Hints by name. A hint that is a string becomes its type when it is read."""

    def __init__(self, hints: dict[str, Any], names: _Names) -> None:
        super().__init__(hints)
        self._names = names

    def __getitem__(self, key: str) -> Any:
        hint = super().__getitem__(key)
        if isinstance(hint, str):
            hint = self[key] = self._names.evaluate(hint)
        return hint

    def __iter__(self) -> Iterator[str]:
        # dict() calls __getitem__ only if the class has its own __iter__.
        return super().__iter__()

    def get(self, key: str, default: Any = None) -> Any:
        try:
            return self[key]
        except KeyError:
            return default

    def items(self) -> Any:
        return dict(self).items()

    def values(self) -> Any:
        return dict(self).values()


class _Names:
    """The names that hints of a module use."""

    def __init__(self, module: ModuleType) -> None:
        self._module = module
        self._names: dict[str, Any] = {}

    def evaluate(self, hint: str) -> Any:
        """Return the type that *hint* names; `Any` if this Python does not have it."""
        if not self._names:
            self._names.update(vars(self._module))
            _import_for_hints(self._module, self._names)
            _provide_hints_of(self._names.values())
        try:
            return eval(hint, self._names)  # noqa: S307 - a hint of this package
        except (AttributeError, TypeError):
            # The hint needs a later Python, or a package that is not installed.
            return Any


def _import_for_hints(module: ModuleType, names: dict[str, Any]) -> None:
    """Execute what is below `if TYPE_CHECKING:`; what cannot be imported is `Any`."""
    import ast

    loader: Any = module.__loader__
    for each in ast.parse(loader.get_source(module.__name__)).body:
        if isinstance(each, ast.If) and ast.unparse(each.test) == "TYPE_CHECKING":
            for statement in each.body:
                code = compile(ast.Module([statement], []), module.__name__, "exec")
                try:
                    exec(code, names)  # noqa: S102 - a statement of this package
                except ImportError:
                    aliases: Any = vars(statement)["names"]
                    for name in (each.asname or each.name for each in aliases):
                        names[name] = getattr(typing, name, Any)
