"""What a tracer tells from its begin to its end: durations, operations, flows."""

from __future__ import annotations

from functools import wraps
from time import monotonic_ns

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType
    from typing import Any, ParamSpec, TypeVar

    from typing_extensions import Self

    from gsym.trace.tracer import Tracer

    _Parameters = ParamSpec("_Parameters")
    _Result = TypeVar("_Result")

# Indexes into EVENT_KINDS.
_COMPLETE = 4
_ASYNC_BEGIN, _ASYNC_INSTANT, _ASYNC_END = 5, 6, 7
_FLOW_BEGIN, _FLOW_STEP, _FLOW_END = 8, 9, 10


class Duration:
    """A `with` block, or with `@` in front of a function each of its calls.

    It is written when it ends. An exception that leaves it is its argument `error`.
    """

    __slots__ = ("_args", "_begin", "_category", "_name", "_tracer")

    def __init__(
        self, tracer: Tracer, category: str, name: str, args: dict[str, Any]
    ) -> None:
        self._tracer = tracer
        self._category = category
        self._name = name
        self._args = args

    def __enter__(self) -> Self:
        self._begin = monotonic_ns()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        end = monotonic_ns()
        args = self._args
        if kind is not None:
            args = {**args, "error": kind.__name__}
        self._tracer.process.event(
            _COMPLETE, self._category, self._name, self._begin, args, end
        )

    def __call__(
        self, function: Callable[_Parameters, _Result]
    ) -> Callable[_Parameters, _Result]:
        """The function, each of whose calls is a duration."""
        tracer, category = self._tracer, self._category
        name, args = self._name, self._args

        @wraps(function)
        def traced(*given: _Parameters.args, **named: _Parameters.kwargs) -> _Result:
            with Duration(tracer, category, name, args):
                return function(*given, **named)

        return traced


class _Chain:
    """Events of one id, the first of which is told at once."""

    __slots__ = ("_category", "_id", "_name", "_tracer")

    _begin_kind: int
    _end_kind: int

    def __init__(
        self, tracer: Tracer, category: str, name: str, args: dict[str, Any]
    ) -> None:
        self._tracer = tracer
        self._category = category
        self._name = name
        self._id = tracer.new_id()
        self._tell(self._begin_kind, args)

    def end(self, **args: Any) -> None:
        """Tell that it has ended."""
        self._tell(self._end_kind, args)

    def _tell(self, kind: int, args: dict[str, Any]) -> None:
        self._tracer.process.event(
            kind, self._category, self._name, monotonic_ns(), args, self._id
        )


class Operation(_Chain):
    """Something that goes on beside other things, on any thread.

    It has begun when it is made. As a `with` block it ends with that.
    """

    __slots__ = ()

    _begin_kind = _ASYNC_BEGIN
    _end_kind = _ASYNC_END

    def instant(self, **args: Any) -> None:
        """Tell of a moment of it."""
        self._tell(_ASYNC_INSTANT, args)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._tell(_ASYNC_END, {} if kind is None else {"error": kind.__name__})


class Flow(_Chain):
    """What leads from duration to duration, also of other threads: arrows in a viewer.

    Each of its events belongs to the duration around it.
    """

    __slots__ = ()

    _begin_kind = _FLOW_BEGIN
    _end_kind = _FLOW_END

    def step(self, **args: Any) -> None:
        """Tell that it passes here."""
        self._tell(_FLOW_STEP, args)
