"""Runs of frames that say little, and what is said in their place.

They are those that Fuchsia's tools fold: on the way of an event into a program, and at
the beginning of programs and threads, in C++ and Rust.
"""

from __future__ import annotations

import re
from functools import cache

from gsym.markup_filter.short_names import scoped_name
from gsym.records import NamedTuple

__all__ = ["FoldedRun", "Pattern", "fold_frames"]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from gsym.markup_filter.symbols import Location


class FoldedRun(NamedTuple):
    """Frames that are shown as one.

    Attributes:
        start: The first of them.
        length: How many.
        description: What they do; "" for one frame that stands for itself.
    """

    start: int
    length: int
    description: str


class Pattern(NamedTuple):
    """What a frame has to be, or how many any frames.

    Attributes:
        name: That of its function, with its scope; `<*>` are any types, or none.
        file: What the path of its file ends in.
        least: How many any frames, of a pattern without both.
        most: Up to how many.
    """

    name: str = ""
    file: bytes = b""
    least: int = 1
    most: int = 1


def _function(name: str, file: str = "") -> Pattern:
    return Pattern(name, file.encode())


def _file(path: str) -> Pattern:
    return Pattern(file=path.encode())


def _any(least: int, most: int) -> Pattern:
    return Pattern(least=least, most=most)


_WAIT = (_any(1, 1), _function("_zx_port_wait"))
_LOOP = (*_WAIT, _function("async_loop_run_once"), _function("async_loop_run"))
_THREAD = (_function("start_pthread"), _function("thread_trampoline"))
_EXECUTOR = "fuchsia_async::runtime::fuchsia::executor"
_POLL = _function(f"{_EXECUTOR}::atomic_future::AtomicFuture<*>::poll<*>")
_BEGIN = _function("std::sys::backtrace::__rust_begin_short_backtrace<*>")
_END = _function("std::sys::backtrace::__rust_end_short_backtrace<*>")
_START = _function("_start")

_FOLDS = (
    (
        "Waiting for event in async::Loop::Run()",
        (*_LOOP, _function("async::Loop::Run")),
    ),
    ("Waiting for event in async_loop_run()", _LOOP),
    ("pthread startup", _THREAD),
    ("std::thread startup", (_file("thread"), *_THREAD)),
    (
        "async_loop thread startup",
        (
            _function("async_loop_run_thread", "loop.c"),
            _function("start_c11", "pthread_create.c"),
            _function("thread_trampoline"),
        ),
    ),
    (
        "Dispatching task from async loop",
        (
            _function("async_loop_dispatch_task"),
            _function("async_loop_dispatch_tasks"),
            _function("async_loop_run"),
        ),
    ),
    ("fpromise::promise code", (_file("fit/promise_internal.h"),)),
    ("fpromise::promise code", (_file("fit/promise.h"),)),
    ("fit::function code", (_file("fit/function.h"),)),
    ("fit::function code", (_file("fit/function_internal.h"),)),
    (
        "Waiting for event in Executor::run_singlethreaded()",
        (
            *_WAIT,
            _function("zx::port::Port::wait"),
            _any(2, 2),
            _function("std::thread::local::LocalKey<*>::try_with<*>"),
            _function("std::thread::local::LocalKey<*>::with<*>"),
            _function(f"{_EXECUTOR}::with_local_timer_heap<*>"),
            _function(f"{_EXECUTOR}::Executor::run_singlethreaded<*>"),
        ),
    ),
    (
        "Polled event in fuchsia::test_singlethreaded",
        (_POLL, _any(1, 25), _function("fuchsia::test_singlethreaded<*>")),
    ),
    (
        "Polled event in fuchsia::multithreaded_test_singlethreaded",
        (_POLL, _any(1, 23), _function("thread_trampoline")),
    ),
    (
        "Polled event in Executor::run_singlethreaded",
        (
            _POLL,
            _any(1, 10),
            _function(f"{_EXECUTOR}::local::LocalExecutor::run_singlethreaded<*>"),
        ),
    ),
    ("libc startup", (_file("start-main.cc"),)),
    ("libc startup", (_file("__libc_start_main.c"),)),
    ("libc startup", (_START,)),
    (
        "Rust panic",
        (_function("__fuchsia_libc::__abort_impl__"), _any(0, 16), _END),
    ),
    (
        "Rust panic",
        (
            _function("std::panicking::panic_handler"),
            _function("core::panicking::panic_fmt"),
        ),
    ),
    (
        "Rust backtrace library",
        (_function("std::sys::backtrace::_print_fmt"), _any(0, 19), _END),
    ),
    (
        "Rust startup",
        (_file("library/core/src/ops/function.rs"), _BEGIN, _any(0, 16), _START),
    ),
    (
        "Rust test startup",
        (_function("test::__rust_begin_short_backtrace<*>"), _any(0, 20), _START),
    ),
    ("Rust startup", (_BEGIN, _any(0, 16), _START)),
    (
        "Rust thread startup",
        (_BEGIN, _any(0, 16), _function("thread_trampoline")),
    ),
)
# What takes most patterns is tried first.
_ORDERED = sorted(_FOLDS, key=lambda fold: -len(fold[1]))


def fold_frames(frames: Sequence[Location]) -> list[FoldedRun]:
    """All frames of a stack in runs, in order.

    Args:
        frames: Innermost first. A place without a function and a file is in no run.
    """
    names = [scoped_name(frame.function)[0] for frame in frames]
    runs: list[FoldedRun] = []
    at = 0
    while at < len(frames):
        count, description = _longest(frames, names, at)
        if count and runs and runs[-1].description == description:
            before = runs.pop()
            runs.append(before._replace(length=before.length + count))
        else:
            runs.append(FoldedRun(at, count or 1, description))
        at += count or 1
    return runs


def _longest(
    frames: Sequence[Location], names: Sequence[bytes], start: int
) -> tuple[int, str]:
    """How many frames the first fold takes that fits, and what it says."""
    for description, patterns in _ORDERED:
        count = _matched(frames, names, start, patterns)
        if count:
            return count, description
    return 0, ""


def _matched(
    frames: Sequence[Location],
    names: Sequence[bytes],
    start: int,
    patterns: Sequence[Pattern],
) -> int:
    """How many frames from *start* on fit all patterns; 0: they do not."""
    if start + len(patterns) > len(frames):
        return 0
    at, index, spare = start, 0, 0
    while index < len(patterns) and at < len(frames):
        pattern = patterns[index]
        if not pattern.name and not pattern.file:
            spare = pattern.most - pattern.least
        elif _fits(frames[at], names[at], pattern):
            spare = 0
        elif not spare:
            return 0
        else:
            spare -= 1
            at += 1
            continue
        index += 1
        at += pattern.least
    return at - start if index == len(patterns) and at <= len(frames) else 0


def _fits(frame: Location, name: bytes, pattern: Pattern) -> bool:
    if pattern.file and not (b"/" + frame.file).endswith(b"/" + pattern.file):
        return False
    return not pattern.name or _compiled(pattern.name).fullmatch(name) is not None


@cache
def _compiled(name: str) -> re.Pattern[bytes]:
    # Names that Rust mangled in its first way have no types.
    pattern = re.escape(name.encode()).replace(rb"<\*>", rb"(?:(?:::)?<.*>)?")
    return re.compile(pattern, re.DOTALL)
