"""The `gsym` command, one module per verb, and the drop-ins installed beside it.

A verb is a function with the decorator `grammar.Command`, which declares its operands,
options and closing help; it takes the `Values` of a command line and returns the exit
code. It prints results to standard output and remarks to standard error, lets
`GsymError` and `OSError` through (`program.run_program` turns them into one line and
exit code 1) and raises `grammar.UsageError` for values that make no sense. Names and
paths in text for people go through `terminal.printable`. Modules needed for some
options only, `json` above all, are imported where they are used.
"""
