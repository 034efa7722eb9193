"""`python -m tools.analyze [TOOL...]`: what static analyzers find.

A finding is an error unless `exceptions.tsv` has its tool, rule and file with the
reason. So is an exception that nothing needs. Tools that are not installed are named.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import sysconfig
from concurrent.futures import ThreadPoolExecutor
from fnmatch import fnmatch
from pathlib import Path
from typing import NamedTuple

FOLDER = Path(__file__).parent
ROOT = FOLDER.parents[1]
FOLDERS = ("csrc", "cpython", "launcher", "libgsym")
INCLUDES = (
    *("-std=c11", "-iquote", "csrc", "-Icsrc/include", "-Ilibgsym/include"),
    f"-isystem{sysconfig.get_path('include')}",
)
# The rest of bugprone and cert is of style, or of C++. All of this takes 6 minutes of
# processor time.
CHECKS = (
    "-*,clang-analyzer-*,-clang-analyzer-security.insecureAPI.*,"
    "-clang-analyzer-deadcode.*,bugprone-infinite-loop,bugprone-integer-division,"
    "bugprone-misplaced-*,bugprone-sizeof-*,bugprone-suspicious-*,"
    "bugprone-too-small-loop-variable,concurrency-*"
)


class Finding(NamedTuple):
    """What a tool says about a file; *text* starts with the line."""

    tool: str
    rule: str
    path: str
    text: str


def _files() -> list[str]:
    found = [path for folder in FOLDERS for path in (ROOT / folder).rglob("*.c")]
    return sorted(str(path.relative_to(ROOT)) for path in found)


def _lines(*command: str) -> list[str]:
    done = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, check=False
    )
    if done.returncode < 0:
        sys.exit(f"signal {-done.returncode} has ended: {' '.join(command)}")
    return (done.stdout + done.stderr).splitlines()


def _each_file(command: list[str], *after: str) -> list[str]:
    with ThreadPoolExecutor(2) as pool:
        runs = pool.map(lambda path: _lines(*command, path, *after), _files())
        return [line for lines in runs for line in lines]


def _gcc(program: str) -> list[str]:
    command = [program, *INCLUDES, "-O1", "-fanalyzer", "-c", "-o", "/dev/null"]
    return _each_file(command)


def _clang_tidy(program: str) -> list[str]:
    return _each_file([program, "--quiet", f"--checks={CHECKS}"], "--", *INCLUDES)


def _cppcheck(program: str) -> list[str]:
    words = "--quiet", "--std=c11", "--enable=warning,portability", "--library=python"
    form = "--template={file}:{line}: warning: {message} [{id}]"
    return _lines(program, *words, form, *INCLUDES[3:5], *FOLDERS)


def _bandit(program: str) -> list[str]:
    form = "{relpath}:{line}: warning: {msg} [{test_id}]"
    return _lines(program, "-q", "-r", "gsym", "-f", "custom", "--msg-template", form)


def _semgrep(program: str) -> list[str]:
    words = "scan", "--metrics=off", "--disable-version-check", "--emacs", "--quiet"
    rules = FOLDER.relative_to(ROOT) / "rules.yaml"
    found = []
    for line in _lines(program, *words, f"--config={rules}", *FOLDERS):
        match = re.match(r"(.+?):(\d+):\d+:\w+\(([\w.-]+)\):.*?:(.*)", line)
        if match:
            rule = match[3].rpartition(".")[2]
            found.append(f"{match[1]}:{match[2]}: warning: {match[4]} [{rule}]")
    return found


TOOLS = {
    "gcc": _gcc,
    "clang-tidy-19": _clang_tidy,
    "cppcheck": _cppcheck,
    "bandit": _bandit,
    "semgrep": _semgrep,
}
_FINDING = re.compile(
    r"(\S+?):(\d+)(?::\d+)?: (?:warning|(?:fatal )?error): (.*?)(?: ?\[([^][]+)\])?$"
)


def findings_of(tool: str, program: str) -> list[Finding]:
    """What *tool* finds, each line once."""
    found: dict[Finding, None] = {}
    for line in TOOLS[tool](program):
        match = _FINDING.match(line)
        if match:
            path = match[1].removeprefix(f"{ROOT}/").removeprefix("./")
            finding = Finding(
                tool, match[4] or "error", path, f"{match[2]}: {match[3]}"
            )
            found[finding] = None
    return list(found)


def exceptions(tool: str) -> list[tuple[str, str]]:
    """The rules of *tool*, and the patterns of files, that have a reason."""
    lines = (FOLDER / "exceptions.tsv").read_text("utf-8").splitlines()
    rows = [line.split("\t") for line in lines]
    return [(rule, pattern) for name, rule, pattern, _ in rows if name == tool]


def _is_for(exception: tuple[str, str], finding: Finding) -> bool:
    rule, pattern = exception
    return rule == finding.rule and fnmatch(finding.path, pattern)


def examine(tool: str, program: str) -> int:
    """Print what *tool* finds but for the exceptions; how much that is."""
    found, excepted = findings_of(tool, program), exceptions(tool)
    faults = [
        f"{each.path}:{each.text} [{tool} {each.rule}]"
        for each in found
        if not any(_is_for(exception, each) for exception in excepted)
    ]
    known = len(found) - len(faults)
    faults += [
        f"tools/analyze/exceptions.tsv: nothing needs {tool} {' '.join(exception)}"
        for exception in excepted
        if not any(_is_for(exception, each) for each in found)
    ]
    print(*faults, f"{tool}: {known} excepted, {len(faults)} not", sep="\n", flush=True)
    return len(faults)


def main(asked: list[str]) -> int:
    """Run the tools *asked* for, or all."""
    faults = 0
    for tool in asked or TOOLS:
        beside = Path(sys.executable).parent / tool
        program = str(beside) if beside.exists() else shutil.which(tool)
        if program is None:
            print(f"{tool}: not installed")
        else:
            faults += examine(tool, program)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
