"""`gsym trace`: finds the verb behind it."""

from __future__ import annotations

from gsym.cli.verbs import VerbCommand

VERBS = {
    "info": "Show what a trace is: who wrote it, when, processes and threads",
    "dump": "Print the records of a trace",
}

COMMAND = VerbCommand(
    "gsym trace",
    "Read Fuchsia traces and profiles, symbolize and convert them",
    VERBS,
    "gsym.cli.trace_",
    "'gsym trace VERB --help' explains a verb.",
)

run = COMMAND.run
