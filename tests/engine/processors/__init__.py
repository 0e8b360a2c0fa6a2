"""Operators under the hostile harness."""
