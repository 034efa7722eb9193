"""`gsym trace`: finds the verb behind it."""

from __future__ import annotations

from gsym.cli.verb_command import VerbCommand

VERBS = {
    "info": "Show what a trace is: who wrote it, when, processes and threads",
    "stats": "Count records, bytes and events of a trace",
    "dump": "Print the records of a trace",
    "blobs": "List the data that a trace carries, or write it to files",
    "convert": "Write a trace or a profile in another form",
    "symbolize": "Look up the functions, files and lines of a profile",
    "flame": "Draw a profile as a flame graph",
    "top": "Show where the time of a profile or a trace went",
    "diff": "Show what changed between two profiles",
    "merge": "Make one trace of several",
    "record": "Run a Python program and write a trace of its function calls",
}

COMMAND = VerbCommand(
    "gsym trace",
    "Read Fuchsia traces and profiles, symbolize and convert them",
    VERBS,
    "gsym.cli.verbs.trace_",
    "'gsym trace VERB --help' explains a verb.",
)

run = COMMAND.run
