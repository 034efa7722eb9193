"""Symbfiles that profilers' tools push: received, published, handed out."""
