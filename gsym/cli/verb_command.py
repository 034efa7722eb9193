"""A command of verbs: finds the verb, imports it, tells what is wrong with the line."""

from __future__ import annotations

import sys

from gsym.cli.options import HelpRequested, UsageError, suggestion
from gsym.cli.terminal import printable

EXIT_USAGE = 2


class VerbCommand:
    """The command *program*, whose first argument is a verb.

    A verb is a module with `run(arguments) -> int`, which is imported when it is used.

    Args:
        program: What a user types to get here, e.g. "gsym store".
        summary: One sentence for the help.
        verbs: Verb -> what it does. Repeated from each verb's declaration: the list of
            verbs must not import them all.
        modules: What the names of their modules begin with.
        epilog: Last line of the help.
    """

    def __init__(
        self,
        program: str,
        summary: str,
        verbs: dict[str, str],
        modules: str,
        epilog: str,
    ) -> None:
        self._program = program
        self.summary = summary
        self._verbs = verbs
        self._modules = modules
        self._epilog = epilog

    def run(self, arguments: list[str]) -> int:
        """Run the verb; the exit code, also where the command line is wrong."""
        if not arguments:
            print(self.help(), end="", file=sys.stderr)
            return EXIT_USAGE
        first, *rest = arguments
        if first in {"--help", "-h"}:
            print(self.help(), end="")
            return 0
        if first not in self._verbs:
            kind = "option" if first.startswith("-") else "verb"
            reason = f"unknown {kind} '{first}'{suggestion(first, list(self._verbs))}"
            return _refuse(self._program, reason)
        module = __import__(self._modules + first, fromlist=("run",))
        try:
            return int(module.run(rest))
        except HelpRequested as request:
            print(request, end="")
            return 0
        except UsageError as error:
            return _refuse(f"{self._program} {first}", str(error))

    def help(self) -> str:
        """The text of `--help`."""
        width = max(map(len, self._verbs))
        lines = [
            f"usage: {self._program} VERB [ARGUMENT]...",
            "",
            f"{self.summary}.",
            "",
            "verbs:",
            *(f"  {verb:<{width}} {text}" for verb, text in self._verbs.items()),
            "",
            self._epilog,
        ]
        return "\n".join(lines) + "\n"


def _refuse(program: str, reason: str) -> int:
    print(f"{program}: error: {printable(reason)}", file=sys.stderr)
    print(f"Try '{program} --help'.", file=sys.stderr)
    return EXIT_USAGE
