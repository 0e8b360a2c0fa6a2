"""Tests of the public package."""
