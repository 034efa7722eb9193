"""`gsym symbfile`: finds the verb behind it."""

from __future__ import annotations

from gsym.cli.verb_command import VerbCommand

VERBS = {
    "dump": "Print the records of a symbfile",
    "stats": "Show what a symbfile holds",
    "verify": "Check what a symbfile says",
    "diff": "Show what two symbfiles say differently",
    "lookup": "Find the functions, files and lines at addresses",
    "convert": "Convert symbfiles to a GSYM file",
    "extract": "Write ranges and return pads of a binary as symbfiles",
    "push": "Send the symbols of executables to a server of profilers",
    "id": "Print the FileID of executables",
}

COMMAND = VerbCommand(
    "gsym symbfile",
    "Read and write symbfiles, which eBPF profilers use",
    VERBS,
    "gsym.cli.verbs.symbfile_",
    "'gsym symbfile VERB --help' explains a verb.",
)

run = COMMAND.run
