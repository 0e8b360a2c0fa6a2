"""Measurements: one module per question, each a command that prints its table."""
