"""Charts for benchmarks/RESULTS.md and docs/quality.md, as reproducible SVG files."""

from __future__ import annotations

import math
from itertools import cycle
from typing import TYPE_CHECKING, NamedTuple

import matplotlib as mpl
from matplotlib.figure import Figure

from benchmarks.report import ROOT, require_commit

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from matplotlib.axes import Axes

FOLDER = ROOT / "docs" / "benchmarks"
_OURS = ("#d1495b", "#e58a97", "#8f2738", "#f2b8c0")
_PEERS = ("#30638e", "#8d99ae", "#e8ab4f", "#5b8e7d", "#7d5ba6", "#403f4c")
# Text stays text; names of elements come from a fixed seed.
mpl.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "gsym", "font.size": 9})


class Panel(NamedTuple):
    """One input of `curves`.

    Attributes:
        title: The input.
        series: For each tool its points, (number, seconds).
    """

    title: str
    series: Mapping[str, Sequence[tuple[float, float]]]


def _colours(names: Iterable[str]) -> dict[str, str]:
    """One for each tool; ours are of one kind."""
    ours, peers = cycle(_OURS), cycle(_PEERS)
    return {name: next(ours if name.startswith("gsym") else peers) for name in names}


def _save(figure: Figure, name: str) -> str:
    """Write the chart and return the line of Markdown that shows it."""
    require_commit()
    FOLDER.mkdir(exist_ok=True)
    path = FOLDER / f"{name}.svg"
    figure.savefig(path, metadata={"Date": None}, bbox_inches="tight")
    text = path.read_text(encoding="utf-8")
    lines = [line.rstrip() for line in text.splitlines()]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return f"![{name}](../docs/{FOLDER.name}/{path.name})"


def _label(value: float) -> str:
    digits = max(0, 1 - math.floor(math.log10(value))) if value else 0
    return f"{value:.{digits}f}" if value else ""


def _tidy(axes: Axes) -> None:
    axes.spines[["top", "right"]].set_visible(b=False)
    axes.grid(axis="y", alpha=0.3)
    axes.set_axisbelow(b=True)


def bars(
    name: str, unit: str, groups: Sequence[str], series: Mapping[str, Sequence[float]]
) -> str:
    """Bars side by side on a scale of powers of ten.

    Args:
        name: Of the file, and what the chart is called where it is not seen.
        unit: What is counted.
        groups: The inputs.
        series: For each tool one figure an input; 0 for none.
    """
    figure = Figure(figsize=(7.5, 3))
    axes = figure.add_subplot()
    width = 0.8 / len(series)
    colours = _colours(series)
    for at, (tool, values) in enumerate(series.items()):
        left = [
            group + (at - (len(series) - 1) / 2) * width for group in range(len(values))
        ]
        drawn = axes.bar(left, values, width * 0.92, label=tool, color=colours[tool])
        labels = [_label(value) for value in values]
        axes.bar_label(drawn, labels, fontsize=7, padding=1)
    axes.set_yscale("log")
    axes.set_ylabel(unit)
    axes.set_xticks(range(len(groups)), groups)
    _tidy(axes)
    axes.legend(
        frameon=False, ncols=len(series), loc="lower left", bbox_to_anchor=(0, 1)
    )
    return _save(figure, name)


def curves(name: str, across: str, up: str, panels: Sequence[Panel]) -> str:
    """One panel an input, both scales of powers of ten.

    Args:
        name: Of the file, and what the chart is called where it is not seen.
        across: What is counted from left to right.
        up: What is counted upwards.
        panels: The inputs.
    """
    figure = Figure(figsize=(3.4 * len(panels), 3.4))
    every = _colours(dict.fromkeys(tool for panel in panels for tool in panel.series))
    for place, panel in enumerate(panels, 1):
        axes = figure.add_subplot(1, len(panels), place)
        for tool, points in panel.series.items():
            wide = 2.2 if tool.startswith("gsym") else 1.2
            axes.plot(
                *zip(*points, strict=True), marker=".", lw=wide, color=every[tool]
            )
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.set_title(panel.title, fontsize=9)
        axes.set_xlabel(across)
        if place == 1:
            axes.set_ylabel(up)
        _tidy(axes)
    handles = [mpl.lines.Line2D([], [], color=colour) for colour in every.values()]
    figure.legend(
        handles,
        list(every),
        frameon=False,
        ncols=4,
        loc="lower center",
        bbox_to_anchor=(0.5, 0.98),
    )
    return _save(figure, name)
