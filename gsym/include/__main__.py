"""Prints the folder of this file, for compilers."""

import os

print(os.path.dirname(os.path.abspath(__file__)))  # noqa: T201 - for `cc -I`
