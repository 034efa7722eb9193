"""One changed place of the program at a time, which tests are to notice."""
