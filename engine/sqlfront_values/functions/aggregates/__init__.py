"""Aggregate functions.

``aggregate_function`` is the contract, ``registry`` lists the functions, :mod:`.accumulators` computes.
"""
