"""A Spark session beside a sqlfront session: each runs the statements that the other can't.

``start`` holds the Spark session, or starts it on demand; ``known`` caches its names and settings
(``same_answers``: the settings that decide its answers). ``lane`` decides which statements Spark runs
(``reasons`` gives the reasons), and runs them; ``lent`` makes sqlfront's tables and views visible to Spark
while Spark runs a statement (``straight``: Spark's tasks read the rows from members). ``mixed`` is for
queries over tables of both sessions: ``fragments`` finds the parts that Spark runs, and writes them as texts.
``copies`` tells which cached tables copy relations of Spark's. ``frame`` is the result of an attached
session's ``sql``: the methods of Spark's DataFrame that need no Spark, and all others through a real
DataFrame; ``attached`` has the session class, which has all methods of a SparkSession (``session_parts``:
``conf`` and ``catalog``). Calls to Spark are in :mod:`sqlfront_connectors.spark`; nothing here imports
pyspark.
"""

from sqlfront_values.lazy_modules import lazy_submodules

lazy_submodules(__name__, "mixed", "start")
