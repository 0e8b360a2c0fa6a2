"""The demo held against Spark: `flights.slt` has Spark's answers to the queries of `demo/flights.sql`."""
