"""The seam to the C engine."""
