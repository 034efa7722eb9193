"""Check the layout of the C files: a part of `make lint`.

    python tools/check_c.py

Reports lines of more than 92 columns, comments that end in a line of their own after a
line of text, include guards that do not name their file, and files of the engine and of
libgsym without a title.
"""

import re
import sys
from pathlib import Path

COLUMNS = 92
FOLDERS = ("csrc", "cpython", "launcher", "libgsym", "benchmarks", "examples", "tools")
TITLED = ("csrc", "cpython", "launcher", "libgsym")
LONE_END = re.compile(r" *\* \*/")
GUARD = re.compile(r"#ifndef (\w+)\n#define \1\n")


def guard_of(path: Path) -> str:
    """Return the include guard for a header: its folder and its name.

    Public headers are included as <gsym/NAME.h>, so only their name counts.
    """
    name = re.sub(r"\W", "_", path.name.upper())
    if path.parent.name == "gsym" and path.parent.parent.name == "include":
        return "GSYM_H" if path.stem == "gsym" else f"GSYM_{name}"
    if path.parts[0] == "csrc":
        return f"GSYM_{path.parent.name.upper()}_{name}"
    return name


def complaints(path: Path, text: str) -> list[str]:
    """Return what is wrong with a file, as `path:line: text`."""
    found = [
        f"{path}:{number}: {complaint}"
        for number, line in enumerate(text.splitlines(), 1)
        for complaint, is_found in (
            (f"longer than {COLUMNS} columns", len(line) > COLUMNS),
            ("an end of a comment beside a lone asterisk", LONE_END.fullmatch(line)),
        )
        if is_found
    ]
    if path.parts[0] in TITLED and not text.startswith(f"/* {path.name} - "):
        found.append(f"{path}:1: does not begin with /* {path.name} - TITLE. */")
    if path.suffix == ".h":
        guard = GUARD.search(text)
        if guard is None or not guard[1].endswith(guard_of(path)):
            found.append(f"{path}:1: the include guard should be {guard_of(path)}")
    return found


def main() -> int:
    """Print the complaints about the C files of the checkout; 1 if there are any."""
    found = [
        complaint
        for folder in FOLDERS
        for path in sorted(Path(folder).rglob("*.[ch]"))
        for complaint in complaints(path, path.read_text(encoding="utf-8"))
    ]
    print("\n".join(found), end="\n" if found else "")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
