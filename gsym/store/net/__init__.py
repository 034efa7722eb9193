"""The network: connections, limits, addresses."""
