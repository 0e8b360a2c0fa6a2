"""Plans of the rows that INSERT (``insertion``), DELETE and UPDATE (``modification``) write into a table.
``named_columns`` resolves the columns of the table that a statement names.
"""
