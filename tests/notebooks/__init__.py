"""Notebooks of everyday work, run on plain Spark and with sqlfront attached."""
