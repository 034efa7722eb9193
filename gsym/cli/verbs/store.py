"""`gsym store`: finds the verb behind it."""

from __future__ import annotations

from gsym.cli.verb_command import VerbCommand

VERBS = {
    "add": "Put the modules of files, folders and archives into a store",
    "get": "Find the GSYM file of a module",
    "list": "List the modules of a store",
    "info": "Show what is known of a module",
    "verify": "Check a store",
    "gc": "Remove what was not used for longest",
    "export": "Write the modules of a store for other tools",
    "prefetch": "Fetch the modules of a list into a store",
    "import": "Put all modules of a symbol tree or a bucket into a store",
    "misses": "Show the modules that were asked for and not found",
}

COMMAND = VerbCommand(
    "gsym store",
    "Keep GSYM files by the ids of their modules",
    VERBS,
    "gsym.cli.verbs.store_",
    "'gsym store VERB --help' explains a verb.",
)

run = COMMAND.run
