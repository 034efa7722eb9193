"""symbfiles as files: opened, shown, checked, compared, made of debug information."""
