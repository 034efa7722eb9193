"""Programs for the work on the project, run from the checkout."""
