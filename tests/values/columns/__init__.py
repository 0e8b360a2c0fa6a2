"""Grouping, matching, sorting of columns."""
