"""Spark's hash partitioning: which partition a key belongs to.

``partitions`` computes the partitions of whole columns, ``scalar_hash`` the hash of a single key in plain
Python, for lookups.
"""
