"""Stacks of a profile; collapsed stacks as output."""

from __future__ import annotations

from gsym.trace.profiles.model import Frame

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from gsym.trace.profiles.model import Profile, Thread


# What stacks may start with: a frame for the process, one for the thread.
ROOTS = ("process", "thread")


def call_stacks(
    profile: Profile, value: int = 0, roots: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[Frame, ...], int]]:
    """Each distinct stack, outermost frame first, and the sum of its samples.

    Args:
        profile: Whose samples they are.
        value: Which of its value types is summed, counted from 0.
        roots: Which of `ROOTS` stand in front of each stack.

    Yields:
        Stacks in the order in which they first come; those whose sum is 0 as well.
    """
    frames = [profile.frames_of(stack)[::-1] for stack in range(len(profile.stacks))]
    fronts = {
        index: thread_frames(thread, roots)
        for index, thread in enumerate(profile.threads)
    }
    sums: dict[tuple[Frame, ...], int] = {}
    for (stack, thread), weight in summed_stacks(profile, value).items():
        front = () if thread is None else fronts[thread]
        whole = front + frames[stack]
        sums[whole] = sums.get(whole, 0) + weight
    yield from sums.items()


def summed_stacks(
    profile: Profile, value: int = 0
) -> dict[tuple[int, int | None], int]:
    """The sum of the samples of each stack of each thread, both as their indexes."""
    sums: dict[tuple[int, int | None], int] = {}
    for sample in profile.samples:
        key = (sample.stack, sample.thread)
        sums[key] = sums.get(key, 0) + sample.values[value]
    return sums


def thread_frames(thread: Thread, roots: tuple[str, ...]) -> tuple[Frame, ...]:
    """Frames that stand for a process and a thread, as *roots* asks for them."""
    texts = {
        "process": _text("process", thread.process, thread.process_name),
        "thread": _text("thread", thread.thread, thread.thread_name),
    }
    return tuple(Frame(texts[root]) for root in ROOTS if root in roots)


def _text(kind: str, number: int, name: str) -> str:
    return f"{name} ({number})" if name else f"{kind} {number}"


# Characters that end a frame or a line in this format, or that a terminal interprets.
_CONTROLS = (*range(0x20), *range(0x7F, 0xA0), *range(0xDC80, 0xDCA0))
_REPLACED = {ord(";"): ":", **dict.fromkeys(_CONTROLS, " ")}


def collapsed_lines(
    profile: Profile, value: int = 0, roots: tuple[str, ...] = ()
) -> Iterator[str]:
    """The lines, without their ends, in the order of their text.

    Args:
        profile: Whose stacks they are; equal ones are one line.
        value: Which of its value types is summed, counted from 0.
        roots: Which of `call_stacks.ROOTS` stand in front of each stack.

    Yields:
        Names have `:` in place of `;`, and a space in place of a control character.
        Stacks whose sum is 0 have no line.
    """
    sums: dict[str, int] = {}
    for frames, weight in call_stacks(profile, value, roots):
        text = ";".join(frame.name.translate(_REPLACED) for frame in frames)
        sums[text] = sums.get(text, 0) + weight
    for text, weight in sorted(sums.items()):
        if weight:
            yield f"{text} {weight}"
