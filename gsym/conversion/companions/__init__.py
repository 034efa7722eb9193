"""Files that belong to an input: debug links, split units, dSYM bundles, debuginfod."""

DEBUG_DIRECTORIES = ("/usr/lib/debug",)  # of installed debug files
