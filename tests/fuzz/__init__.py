"""Generators of hostile input: statements and values that no list of examples would hold."""
