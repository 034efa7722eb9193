"""Changed decoders, which tests are to notice."""
