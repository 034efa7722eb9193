"""Files that debug information arrives in: ELF, Mach-O, PE, archives, compressed."""

DEBUG_DIRECTORIES = ("/usr/lib/debug",)  # folders of installed debug files
