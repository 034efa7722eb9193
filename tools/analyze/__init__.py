"""Static analysis of the engine and the package."""
