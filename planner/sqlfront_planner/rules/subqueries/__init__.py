"""The rule that turns subquery expressions into joins (``unnest_subqueries``), and the part of the rule that
makes correlated subqueries independent (``decorrelation``).
"""
