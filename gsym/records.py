"""Named tuples that cost next to nothing to define.

`collections.namedtuple` writes and compiles code for each, and its module imports
others: together a sixth of the time of a process that answers one address. What it
makes is repeated here: same attributes, methods, text and pickles.
"""

from __future__ import annotations

import sys

try:  # the getters of `collections`, written in C
    from _collections import _tuplegetter as _field
except ImportError:  # not CPython
    from operator import itemgetter

    def _field(index: int, doc: str) -> property:
        return property(itemgetter(index), doc=doc)


__all__ = ["record_type"]

TYPE_CHECKING = False
if TYPE_CHECKING:
    import inspect
    from collections.abc import Iterable, Mapping
    from typing import Any

    from typing_extensions import Self


class _Signature:
    """Tells `help` and `inspect` what a record is made of."""

    __slots__ = ()

    def __get__(self, record: object, kind: type[_Record]) -> inspect.Signature:
        from inspect import Parameter, Signature

        return Signature(
            [
                Parameter(
                    name,
                    Parameter.POSITIONAL_OR_KEYWORD,
                    default=kind._field_defaults.get(name, Parameter.empty),
                )
                for name in kind._fields
            ]
        )


class _Record(tuple):  # type: ignore[type-arg] # its items differ in type
    """What all records can do; the names are those of `collections.namedtuple`."""

    __slots__ = ()
    __signature__ = _Signature()
    _fields: tuple[str, ...] = ()
    _field_defaults: Mapping[str, object] = {}

    def __new__(cls, *values: object, **named: object) -> Self:
        if named or len(values) != len(cls._fields):
            values = _complete(cls, values, named)
        return tuple.__new__(cls, values)

    @classmethod
    def _make(cls, values: Iterable[Any]) -> Self:
        made: Self = tuple.__new__(cls, values)
        if len(made) != len(cls._fields):
            raise TypeError(f"Expected {len(cls._fields)} arguments, got {len(made)}")
        return made

    def _replace(self, **changes: object) -> Self:
        made = self._make(map(changes.pop, self._fields, self))
        if changes:
            raise ValueError(f"Got unexpected field names: {list(changes)!r}")
        return made

    __replace__ = _replace  # what `copy.replace` calls

    def _asdict(self) -> dict[str, Any]:
        return dict(zip(self._fields, self, strict=True))

    def __repr__(self) -> str:
        parts = [f"{name}={value!r}" for name, value in self._asdict().items()]
        return f"{self.__class__.__name__}({', '.join(parts)})"

    def __getnewargs__(self) -> tuple[Any, ...]:
        return tuple(self)


def _complete(
    kind: type[_Record], values: tuple[object, ...], named: dict[str, object]
) -> tuple[object, ...]:
    """All values of a record in order, with what was named and the defaults.

    Raises:
        TypeError: One is missing, or given twice, or there is none of its name.
    """
    names, count = kind._fields, len(values)
    if count > len(names):
        raise TypeError(f"{kind.__name__}: {count} values for {len(names)} fields")
    rest = {**kind._field_defaults, **named}
    try:
        whole = values + tuple([rest[name] for name in names[count:]])
    except KeyError as missing:
        raise TypeError(f"{kind.__name__}: no value for {missing}") from None
    for name in named:
        if name not in names[count:]:
            fault = "given twice" if name in names else "not a field"
            raise TypeError(f"{kind.__name__}: '{name}' is {fault}")
    return whole


def record_type(name: str, fields: str, defaults: tuple[object, ...] = ()) -> Any:
    """A class of tuples with named items.

    Args:
        name: Of the class, which belongs to the module of the caller.
        fields: Their names, with spaces between.
        defaults: Of the last fields.
    """
    names = tuple(map(sys.intern, fields.split()))
    defaulted = names[len(names) - len(defaults) :]
    namespace = {
        **{
            each: _field(at, f"Alias for field number {at}")
            for at, each in enumerate(names)
        },
        "__slots__": (),
        "__module__": sys._getframe(1).f_globals["__name__"],  # noqa: SLF001
        "__match_args__": names,
        "_fields": names,
        "_field_defaults": dict(zip(defaulted, defaults, strict=True)),
    }
    return type(name, (_Record,), namespace)
