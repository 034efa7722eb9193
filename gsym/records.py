"""`NamedTuple`: as in `typing`, whose import costs more than a lookup.

`collections.namedtuple` compiles code for each class, and its module imports others:
together a sixth of the time of a process that answers one address. The classes here
have the same attributes, methods, `repr` and pickles. Type checkers see
`typing.NamedTuple`.
"""

from __future__ import annotations

import sys

try:  # the getters of `collections`, written in C
    from _collections import _tuplegetter as _field
except ImportError:  # not CPython
    from operator import itemgetter

    def _field(index: int, doc: str) -> property:
        return property(itemgetter(index), doc=doc)


__all__ = ["NamedTuple"]


TYPE_CHECKING = bool()
if TYPE_CHECKING:
    import inspect
    from collections.abc import Iterable, Mapping
    from typing import Any

    from typing_extensions import Self


class _RecordType(type):
    """Creates a class with the annotated fields of its body, with their defaults.

    A default that is a dict is copied for each record.
    """

    def __new__(
        cls, name: str, bases: tuple[type, ...], namespace: dict[str, Any]
    ) -> _RecordType:
        annotated = namespace.get("__annotations__", ())
        names = tuple([sys.intern(each) for each in annotated if each[0] != "_"])
        if names:
            namespace["__match_args__"] = namespace["_fields"] = names
            namespace["_places"] = {each: at for at, each in enumerate(names)}
            namespace["_field_defaults"] = {
                each: namespace[each] for each in names if each in namespace
            }
            defaults = tuple(namespace["_field_defaults"].values())
            if not any(type(each) is dict for each in defaults):
                namespace["_last_defaults"] = defaults
            for at, each in enumerate(names):
                namespace[each] = _field(at, f"Alias for field number {at}")
        namespace.setdefault("__slots__", ())
        return super().__new__(cls, name, bases, namespace)


class _Signature:
    """The signature of a record, for `help` and `inspect`."""

    __slots__ = ()

    def __get__(self, record: object, kind: type[_NamedTuple]) -> inspect.Signature:
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


class _NamedTuple(tuple, metaclass=_RecordType):  # type: ignore[type-arg] # its items differ in type
    """The methods of records, with the names of `collections.namedtuple`."""

    __slots__ = ()
    __signature__ = _Signature()
    _fields: tuple[str, ...] = ()
    _places: Mapping[str, int] = {}
    _field_defaults: Mapping[str, Any] = {}
    _last_defaults: tuple[Any, ...] = ()  # unless one of them has to be copied

    def __new__(cls, *values: object, **named: object) -> Self:
        missing = len(cls._fields) - len(values)
        if named or not 0 <= missing <= len(cls._last_defaults):
            values = _complete(cls, values, named)
        elif missing:
            values += cls._last_defaults[-missing:]
        return tuple.__new__(cls, values)

    @classmethod
    def _make(cls, values: Iterable[Any]) -> Self:
        made: Self = tuple.__new__(cls, values)
        if len(made) != len(cls._fields):
            raise TypeError(f"Expected {len(cls._fields)} arguments, got {len(made)}")
        return made

    def _replace(self, **changes: object) -> Self:
        values, places = [*self], self._places
        try:
            for name, value in changes.items():
                values[places[name]] = value
        except KeyError:
            unknown = [each for each in changes if each not in places]
            raise ValueError(f"Got unexpected field names: {unknown!r}") from None
        return tuple.__new__(self.__class__, values)

    __replace__ = _replace  # what `copy.replace` calls

    def _asdict(self) -> dict[str, Any]:
        return dict(zip(self._fields, self, strict=True))

    def __repr__(self) -> str:
        parts = [f"{name}={value!r}" for name, value in self._asdict().items()]
        return f"{self.__class__.__name__}({', '.join(parts)})"

    def __getnewargs__(self) -> tuple[Any, ...]:
        return tuple(self)


def _complete(
    kind: type[_NamedTuple], values: tuple[object, ...], named: dict[str, object]
) -> tuple[object, ...]:
    """All values of a record in order, including keywords and defaults.

    Raises:
        TypeError: A value is missing or given twice, or its name is unknown.
    """
    names, count = kind._fields, len(values)
    if count > len(names):
        raise TypeError(f"{kind.__name__}: {count} values for {len(names)} fields")
    rest = {**kind._field_defaults, **named}
    missing = names[count:]
    for name in missing:
        if type(rest.get(name)) is dict and name not in named:
            rest[name] = rest[name].copy()
    try:
        complete = values + tuple(map(rest.__getitem__, missing))
    except KeyError as unknown:
        raise TypeError(f"{kind.__name__}: no value for {unknown}") from None
    for name in named:
        if name not in missing:
            problem = "given twice" if name in names else "not a field"
            raise TypeError(f"{kind.__name__}: '{name}' is {problem}")
    return complete


if TYPE_CHECKING:
    from typing import NamedTuple
else:
    NamedTuple = _NamedTuple
