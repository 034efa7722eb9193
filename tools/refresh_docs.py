"""Write each command's `--help` behind its `<!-- help: ... -->` mark in docs/cli.md.

`refresh_docs.py` rewrites the file; `refresh_docs.py --check` only tells whether it
is up to date.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

PAGE = Path(__file__).resolve().parent.parent / "docs/cli.md"
MARK = re.compile(r"(<!-- help: gsym ?([\w ]*) -->\n)(\n```text\n.*?```\n)?", re.DOTALL)


def help_text(verbs: str) -> str:
    """What `gsym VERB... --help` prints."""
    name = verbs.replace(" ", "_") or "main"
    module = __import__(f"gsym.cli.{name}", fromlist=("COMMAND",))
    return str(module.COMMAND.help())


def refreshed(page: str) -> str:
    """*page* with each marked block as the commands print it now."""
    return MARK.sub(lambda mark: f"{mark[1]}\n```text\n{help_text(mark[2])}```\n", page)


def main() -> int:
    """Refresh or check; return the exit code."""
    page = PAGE.read_text(encoding="utf-8")
    new = refreshed(page)
    if "--check" in sys.argv[1:]:
        return int(page != new)
    PAGE.write_text(new, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
