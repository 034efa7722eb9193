"""`python -m gsym` is the `gsym` command."""

import sys

from gsym.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
