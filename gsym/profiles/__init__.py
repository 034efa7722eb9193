"""Profiles of samples: inputs, symbolization, outputs."""
