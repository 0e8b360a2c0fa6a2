"""Tests of ``sqlfront_cluster``."""
