"""Casts: Spark's answers, and ours."""
