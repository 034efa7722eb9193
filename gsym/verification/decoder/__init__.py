"""A second decoder of debug information, independent of the engine."""
