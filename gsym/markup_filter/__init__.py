"""Logs with symbolizer markup: lines -> lines in which symbols stand for addresses."""
