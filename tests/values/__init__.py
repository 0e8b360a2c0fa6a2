"""Tests of ``sqlfront_values``."""
