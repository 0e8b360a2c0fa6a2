"""Sixty notebooks: what data engineers write for `spark.sql` over one business each, with Spark's answers.

What comes in: the `.slt` files of this folder (format in `tests/oracle/slt.py`), each a notebook of set-up
and queries, and `gaps.txt`, the list of the statements that sqlfront doesn't answer yet. What goes out: a
verdict on each statement, native answers that are Spark's above all. Read `runs`, which runs a notebook, then
`gaps`, then `report`, the command that counts verdicts and writes the list.
"""
