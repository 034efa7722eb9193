"""Files that belong to an input: debug links, split units, dSYM bundles, debuginfod."""
