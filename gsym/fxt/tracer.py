"""Traces of Python programs: durations, moments, counters, written as they happen.

    with Tracer("out.fxt") as tracer:
        with tracer.duration("disk", "read", bytes=4096):
            ...

Times are those of the monotonic clock, in nanoseconds. A tracer raises no error in the
program: losses are counted, and reported when the trace is closed. A forked process
writes to the same file, as a provider of its own.
"""

from __future__ import annotations

import atexit
import os
import sys
import weakref
from collections import Counter
from functools import wraps
from itertools import count
from threading import Lock, local
from time import monotonic_ns

from gsym.arguments import path_of, text_of
from gsym.fxt.process_trace import COMPLETE, ProcessTrace, TraceOutput
from gsym.fxt.records import Log
from gsym.fxt.values import cut_text
from gsym.lazy import logging

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, ParamSpec, TypeVar

    from typing_extensions import Self

    _Parameters = ParamSpec("_Parameters")
    _Result = TypeVar("_Result")


class Duration:
    """A `with` block; as a decorator, each call of the function.

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
        self._tracer.open_durations().append(self)
        self._begin = monotonic_ns()
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        end = monotonic_ns()
        self._tracer.close_duration(self)
        args = self._args
        if kind is not None:
            args = {**args, "error": kind.__name__}
        self._tracer.process.event(
            COMPLETE, self._category, self._name, self._begin, args, end
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
    """Events of one id, the first of which is written at once."""

    __slots__ = ("_category", "_id", "_name", "_tracer")

    _kinds: tuple[int, int, int]  # of its begin, those between, and its end

    def __init__(
        self, tracer: Tracer, category: str, name: str, args: dict[str, Any]
    ) -> None:
        self._tracer = tracer
        self._category = category
        self._name = name
        self._id = tracer.new_id()
        self._write(self._kinds[0], args)

    def end(self, **args: Any) -> None:
        """Write its end."""
        self._write(self._kinds[2], args)

    def _write(self, kind: int, args: dict[str, Any]) -> None:
        self._tracer.process.event(
            kind, self._category, self._name, monotonic_ns(), args, self._id
        )


class Operation(_Chain):
    """An asynchronous operation, on any thread.

    It begins when it is made. As a `with` block it ends with that.
    """

    __slots__ = ()

    _kinds = (5, 6, 7)  # indexes into EVENT_KINDS

    def instant(self, **args: Any) -> None:
        """Write an instant of it."""
        self._write(self._kinds[1], args)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self.end(**({} if kind is None else {"error": kind.__name__}))


class Flow(_Chain):
    """A connection of durations, also of other threads: arrows in a viewer.

    Each of its events belongs to the duration around it.
    """

    __slots__ = ()

    _kinds = (8, 9, 10)  # indexes into EVENT_KINDS

    def step(self, **args: Any) -> None:
        """Write a step of it, in the current duration."""
        self._write(self._kinds[1], args)


# As coroutines make them that wait in such a block.
_OVERLAPPING = "durations that overlap others of their thread, which viewers drop"
_INSTANT, _COUNTER = 0, 1  # indexes into EVENT_KINDS
_MOST_NAME_SIZE = 255
_MOST_MESSAGE_SIZE = 32000
_ID_BITS = 32


class Tracer:
    """Writes a trace of this program.

    Its methods are thread-safe. Categories and names of events go into a table of
    32767, and take more time and space if that is full. Arguments are values of any
    type: numbers, texts, bytes, truth values and None unchanged, others as `str`.

    Args:
        path: Of the file, which is emptied.
        name: Of the program; by default that of its script.

    Attributes:
        losses: How often each kind of data was lost.
        process: The trace of this process.

    Raises:
        OSError: The file cannot be opened.
        TypeError: *path* is not a path, or *name* not a string.
    """

    def __init__(
        self, path: str | os.PathLike[str], *, name: str | None = None
    ) -> None:
        self.losses: Counter[str] = Counter()
        self._losing = Lock()
        self._nesting = local()
        path = path_of("path", path)
        if name is not None:
            name = text_of("name", name)
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND | os.O_CLOEXEC
        self._descriptor = os.open(path, flags, 0o666)
        if not name:
            name = os.path.basename(getattr(sys, "argv", [""])[0]) or "python"
        self._name = cut_text(name, _MOST_NAME_SIZE, self._lose, "names of programs")
        self._ids = count(1)
        self._is_open = True
        self.process: ProcessTrace = self._new_process()
        _OPEN.add(self)
        atexit.register(self.close)

    def duration(self, category: str, name: str, /, **args: Any) -> Duration:
        """A `with` block or a decorator; it begins and ends in one thread."""
        return Duration(self, category, name, args)

    def instant(self, category: str, name: str, /, **args: Any) -> None:
        """Write an instant."""
        self.process.event(_INSTANT, category, name, monotonic_ns(), args)

    def counter(
        self,
        category: str,
        name: str,
        id: int = 0,  # noqa: A002 - the word of the specification
        /,
        **values: Any,
    ) -> None:
        """Write numbers that a viewer draws as curves.

        Args:
            category: Of the counter.
            name: Of the counter.
            id: Of counters of one name.
            values: A curve for each.
        """
        self.process.event(_COUNTER, category, name, monotonic_ns(), values, id)

    def async_(self, category: str, name: str, /, **args: Any) -> Operation:
        """Begin an asynchronous operation; `end()` ends it."""
        return Operation(self, category, name, args)

    def flow(self, category: str, name: str, /, **args: Any) -> Flow:
        """Begin a flow from this duration to others: `step()`, `end()`."""
        return Flow(self, category, name, args)

    def log(self, message: str) -> None:
        """Write a line of a log."""
        process = self.process
        try:
            text = cut_text(str(message), _MOST_MESSAGE_SIZE, self._lose, "messages")
            thread = process.current.thread
            process.put(Log(monotonic_ns(), process.process, thread, text))
        except Exception as error:  # noqa: BLE001 - whatever the program gave
            self._lose(f"messages that could not be written: {type(error).__name__}")

    def name_thread(self, name: str) -> None:
        """Set the name of this thread; the default is Python's name of it."""
        self.process.name_thread(str(name))

    def name_process(self, name: str) -> None:
        """Set the name of this process; the default is that of its script."""
        self.process.name_process(str(name))

    def new_id(self) -> int:
        """An id of an operation or a flow that no other one of the trace has."""
        return self.process.process << _ID_BITS | next(self._ids)

    def open_durations(self) -> list[Duration]:
        """The `with` blocks that this thread is in, the innermost last."""
        found: list[Duration] | None = getattr(self._nesting, "durations", None)
        if found is None:
            found = self._nesting.durations = []
        return found

    def close_duration(self, duration: Duration) -> None:
        """A `with` block ends; one that another block outlives is counted as a loss."""
        durations = self.open_durations()
        if durations and durations[-1] is duration:
            durations.pop()
            return
        self._lose(_OVERLAPPING)
        if duration in durations:
            durations.remove(duration)

    def flush(self) -> None:
        """Write all events so far to the file."""
        self.process.output.flush()

    def close(self) -> None:
        """End the trace; losses are reported by `logging` and in the trace itself."""
        if not self._is_open:
            return
        self._is_open = False
        atexit.unregister(self.close)
        _OPEN.discard(self)
        for line in self.lines_of_losses():
            self.log(line)
        self.flush()
        self.process.output.close()
        lines = self.lines_of_losses()
        if lines:
            for line in lines:
                logging.getLogger("gsym.trace").warning("%s: %s", self._name, line)

    def lines_of_losses(self) -> list[str]:
        """The losses as text."""
        return [f"{kind} ({times})" for kind, times in self.losses.items()]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _new_process(self, is_idle: Callable[[], bool] | None = None) -> ProcessTrace:
        def fail(size: int, reason: str) -> None:
            self._lose(f"bytes that could not be written: {reason}", size)

        output = TraceOutput(self._descriptor, fail)
        return ProcessTrace(output, self._name, self._lose, is_idle)

    def _lose(self, kind: str, times: int = 1) -> None:
        with self._losing:
            self.losses[kind] += times

    def begin_child(self) -> None:
        """Write as another process from now on; called in the child after a fork."""
        self._losing = Lock()
        self.losses = Counter()
        # A pool kills its processes between tasks: nothing is held there.
        depth = len(self.open_durations())
        is_idle = lambda: len(self.open_durations()) <= depth  # noqa: E731
        self.process = self._new_process(is_idle)
        self.process.be_one_of_several()
        # multiprocessing ends its processes without `atexit`.
        util = sys.modules.get("multiprocessing.util")
        if util is not None:
            util.register_after_fork(self, _close_with_multiprocessing)


_OPEN: weakref.WeakSet[Tracer] = weakref.WeakSet()
"""Open tracers, for forks."""


def _close_with_multiprocessing(tracer: Tracer) -> None:
    from multiprocessing.util import Finalize

    Finalize(None, tracer.close, exitpriority=-1000)


def _prepare_fork() -> None:
    for tracer in list(_OPEN):
        tracer.process.be_one_of_several()
        tracer.flush()  # or the child would have the same events, too


def _begin_child() -> None:
    for tracer in list(_OPEN):
        tracer.begin_child()


os.register_at_fork(before=_prepare_fork, after_in_child=_begin_child)
