"""Answers compared with Spark: the room where sqlfront's results are held against those of Spark itself.

What comes in: the `.slt` files of `tests/slt` (SQL with the answer that Spark gave, stored). What goes out: a
verdict. Read in this order:

- `values`: Arrow values as exact, readable text;
- `answers`: `Answer` (columns, types, rows) and `Failure` (condition, SQLSTATE), and when two are the same;
- `slt`: the file format;
- `spark`: Spark as a subject that answers SQL; `subject`: sqlfront as one;
- `complete`: `python -m tests.oracle.complete` fills in or checks the stored answers with Spark;
- `test_slt`: every stored answer against sqlfront; `test_live`: a sample of them against a live Spark;
- `beside`: both answer the same statements, Spark from its tables, sqlfront from copies of them;
  `test_beside` does that in one process, `test_executors` (`make beside`) with members on Spark's executors
  and with all queries there are;
- `ddl`: `python -m tests.oracle.ddl.run` has both answer random sequences of DDL, SHOW and DESCRIBE;
- `ways`: `python -m tests.oracle.ways` writes the lane, the reason and EXPLAIN of every statement of the
  `.slt` files and of TPC-H, and compares two such texts: before and after a change that must move no plan.
"""
