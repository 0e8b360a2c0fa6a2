"""The rule that turns subquery expressions into joins (``unnest_subqueries``), and its first step, which
turns a correlated subquery into a plan without correlation (``decorrelation``).
"""
