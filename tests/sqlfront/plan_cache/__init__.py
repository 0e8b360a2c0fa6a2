"""Cached plans give the answers of plans made anew."""
