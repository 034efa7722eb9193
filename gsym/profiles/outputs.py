"""Output formats of profiles: collapsed stacks, speedscope, and a writer for each."""

from __future__ import annotations

from gsym.lazy import json
from gsym.profiles.call_tree import call_stacks, thread_title
from gsym.profiles.model import NEGATIVE, Profile

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any


# Characters that end a frame or a line in this format, or that a terminal interprets.
_CONTROLS = (*range(0x20), *range(0x7F, 0xA0), *range(0xDC80, 0xDCA0))
# In place of names and of stacks that are empty, which no reader would find again.
_NAMELESS, _STACKLESS = "(unknown)", "(no stack)"
_REPLACED = {ord(";"): ":", **dict.fromkeys(_CONTROLS, " ")}


def collapsed_lines(
    profile: Profile, value: int = 0, roots: tuple[str, ...] = ()
) -> Iterator[str]:
    """The lines, without their ends, in the order of their text.

    Args:
        profile: Whose stacks they are; equal ones are one line.
        value: Which of its value types is summed, counted from 0.
        roots: Which of `call_tree.ROOTS` each stack begins with.

    Yields:
        Names have `:` in place of `;`, and a space in place of a control character.
        Stacks whose sum is 0 have no line.
    """
    sums: dict[str, int] = {}
    scale = profile.value_types[value].scale
    for frames, weight in call_stacks(profile, value, roots):
        names = [frame.name.translate(_REPLACED) for frame in frames]
        text = ";".join(name or _NAMELESS for name in names) or _STACKLESS
        sums[text] = sums.get(text, 0) + weight
    for text, weight in sorted(sums.items()):
        if weight:
            yield f"{text} {_decimal(weight, scale)}"


def _decimal(number: int, scale: int) -> str:
    """A number of parts as text, without a rounding."""
    sign, (whole, part) = "-" * (number < 0), divmod(abs(number), scale)
    digits = f"{part:0{len(str(scale)) - 1}d}".rstrip("0") if part else ""
    return f"{sign}{whole}.{digits}" if digits else f"{sign}{whole}"


_SCHEMA = "https://www.speedscope.app/file-format-schema.json"
# Units of pprof that speedscope has; others are bare numbers.
_UNITS = ("bytes", "nanoseconds", "microseconds", "milliseconds", "seconds")


def speedscope_file(
    profile: Profile, value: int = 0, name: str = "profile"
) -> dict[str, Any]:
    """The file of speedscope, ready for JSON: a profile of samples for each thread.

    Source: speedscope's `file-format-spec.ts`, schema of version 0.0.1.

    Args:
        profile: Its samples are in the order of their times if all have one.
        value: Which of its value types is the weight, counted from 0. Weights below 0,
            which the format does not have, are left out.
        name: Of the whole.
    """
    # A frame is a function for speedscope, whatever its line: one of those seen.
    frames: dict[tuple[str, str], int] = {}
    lines: list[int] = []
    stacks: list[list[int]] = []
    for stack in range(len(profile.stacks)):
        stacks.append([])
        for frame in reversed(profile.frames_of(stack)):
            at = frames.setdefault((frame.name, frame.path), len(frames))
            if at == len(lines):
                lines.append(frame.line)
            lines[at] = min(filter(None, (lines[at], frame.line)), default=0)
            stacks[-1].append(at)
    shown = []
    for (function, path), line in zip(frames, lines, strict=True):
        known = {"name": function, **({"file": path} if path else {})}
        shown.append({**known, "line": line} if line else known)
    kind = profile.value_types[value]
    profiles = []
    for thread, samples in profile.samples_by_thread().items():
        kept = [sample for sample in samples if sample.values[value] >= 0]
        profile.lose(NEGATIVE, len(samples) - len(kept))
        weights = [kind.plain(sample.values[value]) for sample in kept]
        title = name if thread is None else thread_title(profile.threads[thread])
        profiles.append(
            {
                "type": "sampled",
                "name": title,
                "unit": kind.unit if kind.unit in _UNITS else "none",
                "startValue": 0,
                "endValue": sum(weights),
                "samples": [stacks[sample.stack] for sample in kept],
                "weights": weights,
            }
        )
    return {
        "$schema": _SCHEMA,
        "shared": {"frames": shown},
        "profiles": profiles,
        "name": name,
        "activeProfileIndex": 0,
        "exporter": "gsym",
    }


FORMS = ("pprof", "collapsed", "speedscope", "firefox")
_ENDINGS = {
    ".pb.gz": "pprof",
    ".pprof": "pprof",
    ".folded": "collapsed",
    ".collapsed": "collapsed",
    ".txt": "collapsed",
    ".speedscope.json": "speedscope",
    ".speedscope": "speedscope",
    ".firefox.json": "firefox",
}


def form_of(path: str) -> str | None:
    """The format of a file by its name; None for an unknown one."""
    name = path.lower()
    return next((form for end, form in _ENDINGS.items() if name.endswith(end)), None)


def write_form(
    profile: Profile,
    form: str,
    *,
    value: int = 0,
    title: str = "profile",
    roots: tuple[str, ...] = (),
) -> bytes:
    """A profile as a file.

    Args:
        profile: What to write.
        form: The format, one of `FORMS`.
        value: Index of the value type, for formats with only one.
        title: For formats that have one.
        roots: Which of `call_tree.ROOTS` each stack begins with, for formats that only
            have stacks.

    Raises:
        GsymError: A number is too large for the format.
        UnsupportedError: It needs a package that is not installed.
    """
    if form == "pprof":
        from gsym.profiles.pprof import pprof_file

        return pprof_file(profile)
    if form == "collapsed":
        lines = collapsed_lines(profile, value, roots)
        return "".join(f"{line}\n" for line in lines).encode("utf-8", "surrogateescape")
    if form == "firefox":
        from gsym.profiles.firefox import firefox_profile

        return json.dumps(firefox_profile(profile, value, title)).encode()
    return json.dumps(speedscope_file(profile, value, title)).encode()
