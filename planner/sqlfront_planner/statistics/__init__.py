"""How many rows a plan will give: estimates for choosing, never for answering.

``selectivity`` says which share of rows passes a condition, ``cardinality`` how many rows a plan gives;
``number_line`` puts values of any type in one order of numbers.
"""
