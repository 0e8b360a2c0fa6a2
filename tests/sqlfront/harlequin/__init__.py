"""Harlequin's adapter, in the environment that `make doors` builds for it."""
