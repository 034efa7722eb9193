"""Convert debug information to GSYM."""
