"""A trace to ask with the commands: two processes, what they did, and when."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gsym.cli.main import main
from tests.inputs.fxt import Words, inline, stream

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Literal

    # Time, number of the thread in its process, addresses.
    Samples = Sequence[tuple[int, int, tuple[int, ...]]]

APP, OTHER = 70, 80
"""Koids of the processes; threads follow them."""
LOADED = 0x7F00_0000_0000
"""Where the module of a profile is in the memory of its process."""


def kernel_object(
    w: Words, kind: int, koid: int, name: bytes, process: int = 0
) -> bytes:
    argument = w.argument(8, b"process", 0, w(process)) if process else b""
    header = kind << 16 | inline(name) << 24 | bool(process) << 40
    return w.record(7, header, w(koid) + stream(name) + argument)


def event(  # noqa: PLR0913, PLR0917 - what an event has
    w: Words,
    kind: int,
    ticks: int,
    thread: tuple[int, int],
    texts: tuple[bytes, bytes],
    last: bytes = b"",
    argument: bytes = b"",
) -> bytes:
    category, name = texts
    body = w(*thread) + stream(category) + stream(name) + argument + last
    refs = (0, inline(category), inline(name))
    return w.event(kind, ticks, refs, body, argument_count=bool(argument))


def switch(w: Words, ticks: int, outgoing: int, incoming: int, state: int = 3) -> bytes:
    return w.record(8, state << 36 | 1 << 60, w(ticks, outgoing, incoming))


def small_trace(byteorder: Literal["little", "big"] = "little") -> bytes:
    """From 1000 to 5000 ns; a provider that dropped records; names come late."""
    w = Words(byteorder)
    main, worker, lone = (APP, APP + 1), (APP, APP + 2), (OTHER, OTHER + 1)
    return b"".join(
        (
            w.magic(),
            w.provider_info(3, b"vehicle"),
            w.initialization(10**9),
            event(w, 0, 2000, main, (b"ui", b"click"), argument=_big(w)),
            event(w, 4, 1000, worker, (b"io", b"read"), w(3500)),
            event(w, 2, 2500, lone, (b"io", b"write")),
            switch(w, 3000, APP + 1, APP + 2),
            w.record(0, 3 << 16 | 3 << 20),
            switch(w, 4000, APP + 2, APP + 1),
            event(w, 3, 5000, lone, (b"io", b"write")),
            kernel_object(w, 1, APP, b"app"),
            kernel_object(w, 1, OTHER, b"other"),
            kernel_object(w, 2, APP + 1, b"main", APP),
            kernel_object(w, 2, APP + 2, b"worker", APP),
            kernel_object(w, 2, OTHER + 1, b"main", OTHER),
        )
    )


def _big(w: Words) -> bytes:
    return w.argument(4, b"size", 0, w(2**64 - 1))


def run(*words: object) -> int:
    return main(["trace", *map(str, words)])


def backtrace(w: Words, ticks: int, thread: tuple[int, int], *frames: int) -> bytes:
    header = 2 << 16 | len(frames) << 28
    return w.record(10, header, w(ticks, *thread, *frames))


def profile_trace(build_id: str, vaddr: int, samples: Samples) -> bytes:
    """A trace of samples of `app`; its module stands at LOADED and comes last."""
    w = Words("little")
    raw, name = bytes.fromhex(build_id), b"module.so"
    size = len(name) << 44 | len(raw) << 52
    return b"".join(
        (
            w.magic(),
            w.initialization(10**9),
            kernel_object(w, 1, APP, b"app"),
            kernel_object(w, 2, APP + 1, b"main", APP),
            kernel_object(w, 2, APP + 2, b"worker", APP),
            *(
                backtrace(w, ticks, (APP, APP + number), *frames)
                for ticks, number, frames in samples
            ),
            w.record(10, size, w(1000, APP, 0) + stream(name) + stream(raw)),
            w.record(10, 1 << 16 | 5 << 44, w(1000, APP, 0, LOADED, 0x2000, vaddr)),
        )
    )
