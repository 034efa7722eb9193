"""The web page of a server, an application of its own."""
