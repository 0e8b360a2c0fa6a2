"""Comparisons, three-valued logic, and functions that choose among their operands."""
