"""LIKE and Java's regular expressions.

``java_regex`` translates a pattern of Java's; ``re2`` runs it in Arrow's kernels where RE2 gives the same
answer, ``regex_matching`` in Python; ``regular_expressions`` has the functions, ``like`` has LIKE and ILIKE.
"""
