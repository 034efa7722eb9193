"""GSYM files on web servers and in buckets, of which only parts are read."""
