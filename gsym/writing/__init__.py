"""Write GSYM files."""
