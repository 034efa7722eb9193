"""The `gsym` command, one module per verb, and the drop-ins installed beside it.

A verb's module holds `COMMAND`, its declared command line (`options.Command`), and
`run(arguments: list[str]) -> int`, which opens with `COMMAND.parse(arguments)` and
returns the exit code. It prints results to standard output, remarks to standard
error, lets `GsymError` and `OSError` through (`main` turns them into one line and
exit code 1) and raises `options.UsageError` for values that make no sense. Names
and paths in text for people go through `terminal.printable`. Modules needed for
some options only, `json` above all, are imported where they are used.
"""
