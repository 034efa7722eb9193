"""Profiles: from every source, into every form."""
