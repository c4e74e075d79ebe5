"""Removal proved from end to end: a marker in a landing folder, and no trace of it after the run that removes it."""
