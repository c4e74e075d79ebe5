"""Tests of the search for what is left of a text or an id."""
