"""Print the result of converting each real file: the table in tests/differential.

    python -m tools.fixture_outcomes FIXTURES > tests/differential/fixture_outcomes.tsv

A row is the path, the number of functions and of those with lines; or the path, an
error and its text. A changed row needs a reason.
"""

from __future__ import annotations

import sys
from pathlib import Path

from tests.differential.outcomes import files, outcome


def main() -> int:
    """Print the table; return the exit code."""
    fixtures = Path(sys.argv[1])
    for name in files(fixtures):
        print(name, *outcome(fixtures / name), sep="\t")
    return 0


if __name__ == "__main__":
    sys.exit(main())
