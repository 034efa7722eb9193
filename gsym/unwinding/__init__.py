"""Rules by which the caller of a frame is found, as binaries have them."""
