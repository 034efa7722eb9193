"""The verbs of `gsym`."""
