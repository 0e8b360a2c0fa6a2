"""Comparisons, three-valued logic, and functions that choose one of their operands."""
