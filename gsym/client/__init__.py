"""Asking a symbolication server, as a careful client does."""

from gsym.client.remote_symbolizer import RemoteSymbolizer
from gsym.client.settings import ClientSettings
from gsym.client.symbolication_client import SymbolicationClient

__all__ = ["ClientSettings", "RemoteSymbolizer", "SymbolicationClient"]
