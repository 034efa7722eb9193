"""Tests of the server and of what it stands on."""
