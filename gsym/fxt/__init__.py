"""The Fuchsia trace format."""
