"""The rule that turns subqueries into joins (``unnest_subqueries``; ``lateral_rows`` for LATERAL), and its
first step, which turns a correlated subquery into a plan without correlation: by lifting its predicates
(``decorrelation``) where that is possible, else by a join with the distinct values that it reads
(``dependent_joins``).
"""
