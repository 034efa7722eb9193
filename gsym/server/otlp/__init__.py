"""Profiles of OpenTelemetry: received, symbolized, sent on to the next collector."""
