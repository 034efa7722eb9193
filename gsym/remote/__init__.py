"""GSYM files on web servers and in buckets, of which only parts are read."""

REMOTE = ("https://", "http://", "s3://", "gs://", "az://")  # how their URLs begin
