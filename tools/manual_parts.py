"""What is said elsewhere, put into the pages of the manual when it is built.

That is what the code says of itself, and records of measurements and comparisons.

A page has a mark, such as `<!-- settings -->`, in the place of each text or table.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.figures import quality_figures
from benchmarks.markdown import region_in
from gsym.cli.dropins import DROP_INS
from gsym.cli.main import help_text
from gsym.cli.verbs import GROUPS, VERBS
from gsym.server.monitoring import METRICS
from gsym.server.settings import Limits, Settings, setting_rows
from gsym.server.symbfiles.protocol import REFUSALS
from tools.manual_sections import EXAMPLES, FILES, VARIABLES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

ROOT = Path(__file__).resolve().parent.parent
MARK = re.compile(r"^<!-- (\w+)(?:: (gsym.*?))? -->$", re.MULTILINE)


def filled(page: str) -> str:
    """*page* with what its marks stand for."""
    return MARK.sub(lambda mark: PARTS[mark[1]](mark[2] or ""), page)


def table(heads: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """A table of Markdown."""
    lines = [[*heads], *([cell.replace("|", r"\|") for cell in row] for row in rows)]
    lines.insert(1, ["---"] * len(lines[0]))
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def help_of(program: str) -> str:
    """The text of `--help`, after the examples."""
    verb = program.removeprefix("gsym").lstrip()
    return f"{examples_of(program)}\n\n```text\n{help_text(verb)}```"


def examples_of(program: str) -> str:
    """The examples of a command or verb."""
    shown = EXAMPLES.get(program, ())
    lines = [f"# {text}\n$ {command}" for command, text in shown]
    return "\n".join(["```console", *lines, "```"]) if lines else ""


def verbs(_: str) -> str:
    """The pages of the verbs by their groups, then those of the drop-ins."""
    lines = []
    for title, names in GROUPS.items():
        lines += ["", f"## {title.capitalize().replace('gsym', 'GSYM')}", ""]
        lines += [f"- [gsym {name}](cli/{name}.md): {VERBS[name][1]}" for name in names]
    lines += ["", "## In place of other programs", ""]
    lines += [f"- [{name}](cli/{name}.md)" for name in DROP_INS]
    pages = (*(name for names in GROUPS.values() for name in names), *DROP_INS)
    toctree = [":hidden:", "", *(f"cli/{name}" for name in pages)]
    return "\n".join([*lines, "", "```{toctree}", *toctree, "```"])


def _settings(kind: type[Settings | Limits]) -> str:
    rows = (
        (f"`{name}`", f"`{default}`" if default else "", text)
        for name, default, text in setting_rows(kind)
    )
    return table(("Name", "Default", "Meaning"), rows)


def metrics(_: str) -> str:
    """The metrics of a server."""
    rows = (
        (f"`{name}`", ", ".join(labels), text)
        for name, (labels, text, *_) in METRICS.items()
    )
    return table(("Name", "Labels", "Meaning"), rows)


def refusals(_: str) -> str:
    """The codes of refused symbfiles."""
    rows = ((each.code, str(each.status), each.when) for each in REFUSALS)
    return table(("Code", "Status", "When"), rows)


def _used(entries: dict[str, tuple[tuple[str, ...], str]], head: str) -> str:
    rows = (
        (f"`{name}`", ", ".join(f"`{each}`" for each in users), text)
        for name, (users, text) in entries.items()
    )
    return table((head, "Used by", "Meaning"), rows)


def bounds(kind: str) -> str:
    """The limits against hostile input: gsym files, gsym processes, gsym formats."""
    text = (ROOT / "tools/qa/limits.tsv").read_text(encoding="utf-8")
    heads, *rows = (line.split("\t") for line in text.splitlines())
    shown = [row[1:] for row in rows if row[0] == kind.removeprefix("gsym ")]
    if not any(row[-1] for row in shown):
        return table(("Input", "Bound"), (row[:2] for row in shown))
    return table((head.capitalize() for head in heads[1:]), shown)


def figures(_: str) -> str:
    """The main figures of the last measurement."""
    results = (ROOT / "benchmarks/RESULTS.md").read_text(encoding="utf-8")
    return quality_figures(results)


def agreement(_: str) -> str:
    """How often answers were equal to those of other tools, at the last comparisons."""
    record = (ROOT / "tests/differential/RESULTS.md").read_text(encoding="utf-8")
    return region_in(record, "summary")


def answers(_: str) -> str:
    """Which kinds of ids find the right module, by how it is asked for."""
    record = (ROOT / "tests/golden/answers_of_modules.md").read_text(encoding="utf-8")
    return region_in(record, "summary")


PARTS: dict[str, Callable[[str], str]] = {
    "help": help_of,
    "examples": examples_of,
    "verbs": verbs,
    "settings": lambda _: _settings(Settings),
    "limits": lambda _: _settings(Limits),
    "metrics": metrics,
    "refusals": refusals,
    "bounds": bounds,
    "figures": figures,
    "agreement": agreement,
    "answers": answers,
    "environment": lambda _: _used(VARIABLES, "Variable"),
    "files": lambda _: _used(FILES, "Path"),
}
