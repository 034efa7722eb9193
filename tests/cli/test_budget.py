"""A budget for each verb: the modules that it loads, and the calls that lead to it.

A verb beyond its budget is slow to start or hard to follow. Remove an import or a call;
raise a number only with the reason in the commit. A verb that needs far less fails,
too: lower its number.
"""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING, NamedTuple

import pytest

import gsym
from tests.conftest import REPOSITORY
from tests.inputs.elf import Elf, Symbol, code_section

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.no_engine

FRAMES = 3  # main, the guard and the verb
SLACK = 0.8  # of the budget; a verb that loads less lowers it

# Verb, its arguments, the most modules of gsym that it loads.
BUDGET = (
    ("lookup", "small.gsym 0x1004", 26),
    # A binary whose conversion is in the cache.
    ("lookup", "program.so 0x1000", 50),
    ("find", "small.gsym f", 22),
    ("dump", "small.gsym", 25),
    ("stats", "small.gsym", 25),
    ("verify", "small.gsym", 46),
    ("export", "small.gsym --to breakpad --debug-id 1234567890abcdef -o out.sym", 30),
    ("merge", "small.gsym -o out.gsym", 36),
    ("convert", "program.sym -o out.gsym", 40),
    # No file beside the text is read; the engine finds what lines have in common.
    ("symbolicate", "alone/report.txt", 59),
    ("filter", "report.txt", 79),
    ("store list", "--store .", 43),
    ("symbfile id", "small.gsym", 37),
    ("trace info", "stacks.txt", 53),
    ("trace flame", "stacks.txt -o out.html", 40),
    ("trace top", "stacks.txt", 46),
    ("trace convert", "stacks.txt --to collapsed -o out.txt", 67),
    ("doctor", "", 49),
)

# Counts the frames from `main` to the first function that takes `values`: the verb.
PROBE = """
import sys
from gsym.cli import main as command

frames = []

def note(frame, event, _argument):
    code = frame.f_code
    if event == "call" and not frames and code.co_varnames[:1] == ("values",):
        depth = 1
        while frame.f_code is not command.main.__code__:
            frame, depth = frame.f_back, depth + 1
        frames.append(depth)

sys.setprofile(note)
command.main(sys.argv[1:])
sys.setprofile(None)
print(*frames, *sys.modules, file=sys.stderr)
"""


class Cost(NamedTuple):
    """What the process of a verb spends."""

    frames: int
    modules: int


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with an input of each kind."""
    path = tmp_path_factory.mktemp("budget")
    with gsym.Creator() as creator:
        creator.add(gsym.FunctionInfo(0x1000, 0x10, "f"))
        creator.save(str(path / "small.gsym"))
    module = "MODULE Linux x86_64 0123456789ABCDEF0123456789ABCDEF0 program\n"
    (path / "program.sym").write_text(f"{module}FUNC 1000 10 0 f\n")
    report = "==1==ERROR: AddressSanitizer: SEGV\n    #0 0x55ce9f99d06d  (app+0x1d)\n"
    (path / "report.txt").write_text(report)
    (path / "alone").mkdir()
    (path / "alone/report.txt").write_text(report)
    (path / "stacks.txt").write_text("main;a;b 3\nmain;c 4\n")
    program = Elf(
        [code_section()], symbols=[Symbol("f", 0x1000, 16)], build_id=b"1" * 20
    )
    (path / "program.so").write_bytes(program.to_bytes())
    cost_of(path, "lookup", "program.so", "0x1000")
    return path


def cost_of(folder: Path, *words: str) -> Cost:
    """The cost of a command line that runs in *folder*."""
    done = subprocess.run(
        [sys.executable, "-c", PROBE, *words],
        cwd=folder,
        env={"PYTHONPATH": str(REPOSITORY), "HOME": str(folder), "LC_ALL": "C"},
        capture_output=True,
        text=True,
        check=True,
    )
    frames, *modules = done.stderr.splitlines()[-1].split()
    ours = {each for each in modules if each.partition(".")[0] == "gsym"}
    compiled = {each for each in ours if each.startswith("gsym.engine._core")}
    return Cost(int(frames), len(ours - compiled))


def complaint(loaded: int, budget: int) -> str:
    """What is wrong with the number of modules; "" if nothing is."""
    if loaded > budget:
        return f"{loaded} modules, {loaded - budget} more than the budget"
    if loaded < SLACK * budget:
        return f"only {loaded} modules: lower the budget of {budget}"
    return ""


@pytest.mark.parametrize(("verb", "arguments", "budget"), BUDGET)
def test_a_verb_stays_within_its_budget(
    folder: Path, verb: str, arguments: str, budget: int
) -> None:
    cost = cost_of(folder, *verb.split(), *arguments.split())
    assert complaint(cost.modules, budget) == ""
    assert cost.frames == FRAMES


@pytest.mark.parametrize(
    ("loaded", "budget", "found"),
    [
        (30, 30, ""),
        (24, 30, ""),
        (31, 30, "31 modules, 1 more than the budget"),
        (23, 30, "only 23 modules: lower the budget of 30"),
    ],
)
def test_budgets_hold_in_both_directions(loaded: int, budget: int, found: str) -> None:
    assert complaint(loaded, budget) == found
