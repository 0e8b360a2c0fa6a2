"""Functions of strings and binaries: parts, searches, case, padding, encodings, formats.

Positions count characters (code points) from 1. :mod:`.patterns` has LIKE and the regular expressions.
"""
