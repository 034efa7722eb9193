"""What a module is: its names and ids, and when two of them are the same build."""
