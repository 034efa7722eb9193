"""`gsym completion`: what a shell offers for unfinished command lines."""

from __future__ import annotations

from gsym.cli.grammar import Command, UsageError, Values
from gsym.cli.shells.completion import SHELLS, script
from gsym.cli.shells.programs import commands

_SHELL = "|".join(SHELLS)


@Command(
    "gsym completion",
    (f"{_SHELL}  the shell that reads it",),
    epilog="""\
Packages install it where the shell looks. Elsewhere, in the start-up file of the shell:

  source <(gsym completion bash)
  source <(gsym completion zsh)        after compinit""",
)
def print_script(values: Values) -> int:
    """Print the completion of all commands of the package."""
    shell = values.operand(_SHELL)
    if shell not in SHELLS:
        raise UsageError(f"unknown shell '{shell}': choose {' or '.join(SHELLS)}")
    print("\n".join(script(shell, command) for command in commands()), end="")
    return 0
