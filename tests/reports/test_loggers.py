"""Frames of tools in the lines of loggers: each is answered as it is without them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

import gsym
from tests.reports.test_evidence import RIGHT, answers, built

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.reports.test_evidence import Built

__all__ = ["built"]

pytestmark = pytest.mark.no_engine  # runs a compiler

FRAMES = {
    "glibc": "{f.path}(+{f.offset:#x}) [{f.address:#x}]",
    "sanitizer": "    #{n} {before:#x}  ({f.path}+{at:#x}) (BuildId: {f.build_id})",
    "Android": "      #{n:02} pc {at:016x}  {f.path} ({f.function}+{f.plus})",
    "HarmonyOS": "#{n:02} pc {at:016x} {f.path}({f.function}+{f.plus})({f.build_id})",
    "systemd-coredump": "#{n}  {f.address:#x} {f.function} ({f.name} + {f.offset:#x})",
    "perf": "\t{f.address:16x} {f.function}+{f.plus:#x} ({f.path})",
    "gdb": "#{n}  {f.address:#018x} in {f.function} () from {f.path}",
    "Chromium": "#{n} {f.address:#x} ({f.path}+{f.offset:#x})",
    "JVM": "C  [{f.name}+{f.offset:#x}]  {f.function}+{f.plus:#x}",
    "backward-cpp": '#{n:<4} Object "{f.path}", at {before:#x}, in {f.function}',
    "strace": " > {f.path}({f.function}+{f.plus:#x}) [{f.offset:#x}]",
}
PREFIXES = {
    "klog": "E1130 18:00:00.123456   4711 app.cc:33] {}",
    "RFC 5424": "<134>1 2026-11-30T18:00:00.123Z host app 4711 - - {}",
    "Log4j": "2026-11-30 18:00:00,123 [main] ERROR org.example.App:33 - {}",
    "nginx": '2026/11/30 18:00:00 [error] 47#47: *1 FastCGI sent: "{}" while reading',
    "mpirun": "[1,0]<stderr>:{}",
    "CSV": '1,"{}",x',
    "logcat": "E/App     (  4711): {}",
    "logfmt": 'time=2026-11-30T18:00:00Z level=error msg="{}"',
    "table": "| 1 | {} |",
    "HTML": "{}<br>",
}


DOCUMENTS: dict[str, Callable[[list[str]], str]] = {
    "docker": lambda lines: "".join(
        json.dumps({"log": f"{each}\n", "stream": "stderr"}) + "\n" for each in lines
    ),
    "list": lambda lines: json.dumps({"a": [lines]}) + "\n",
    "list in lines": lambda lines: json.dumps(lines, indent=1),
    "text": lambda lines: json.dumps(
        {"time": 1.5, "stack": "\n".join(lines)}, indent=1
    ),
    "text in one line": lambda lines: json.dumps({"stack": "\n\t".join(lines)}) + "\n",
}


def frames_of(tool: str, built: Built) -> list[str]:
    """The frames as a tool prints them; addresses before the calls are adjusted."""
    return [
        FRAMES[tool].format(
            f=each, n=at, at=each.offset - bool(at), before=each.address - bool(at)
        )
        for at, each in enumerate(built.stack)
    ]


def answered(text: str, built: Built) -> list[str]:
    return answers(
        gsym.symbolicate(
            text, source=built.folder, maps=built.maps, store=str(built.folder / "none")
        )
    )


@pytest.mark.parametrize("logger", PREFIXES)
@pytest.mark.parametrize("tool", FRAMES)
def test_text_around_a_frame_changes_nothing(
    tool: str, logger: str, built: Built
) -> None:
    lines = frames_of(tool, built)
    text = "".join(PREFIXES[logger].format(each) + "\n" for each in lines)
    assert answered(text, built) == list(RIGHT)


@pytest.mark.parametrize("document", DOCUMENTS)
@pytest.mark.parametrize("tool", FRAMES)
def test_texts_in_json_are_read(tool: str, document: str, built: Built) -> None:
    text = DOCUMENTS[document](frames_of(tool, built))
    assert answered(text, built) == list(RIGHT)


@pytest.mark.parametrize("prefix", ["", "12: ", "app | "])
def test_a_frame_has_no_module_of_the_next(prefix: str, built: Built) -> None:
    """What `eu-stack -b -m` prints."""
    lines = (
        f"{prefix}#{n:<2} {f.address:#018x} {f.function} - {f.path}\n"
        f"{prefix}    [{f.build_id}]@{f.base:#x}+{f.offset - bool(n):#x}\n"
        for n, f in enumerate(built.stack)
    )
    report = gsym.symbolicate("".join(lines), source=built.folder)
    assert answers(report) == list(RIGHT)
