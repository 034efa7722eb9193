"""The symbolication API without its transport: requests as data -> answers as data."""
