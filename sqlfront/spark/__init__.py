"""A Spark session beside sqlfront's: what one of them can't answer, the other does.

``start`` has the Spark session, or starts it when it is needed; ``known`` is what is known of its names and
settings (``same_answers``: those that decide what it answers). ``lane`` decides which statements Spark runs
(``reasons`` says why), and runs them, with what is ``lent`` to it (``straight``: rows that its tasks read
from members); ``mixed`` is for queries over tables of both sides, whose parts that Spark runs ``fragments``
finds and writes as texts; ``copies`` tells cached tables that are made of Spark's from others. ``frame`` is
the result that an attached session's ``sql`` gives: the methods of Spark's DataFrame that need no Spark, and
all others on a real one (``pandas_frames``: the rows as pandas has them); ``attached`` opens the door. What
talks to Spark is :mod:`sqlfront_connectors.spark`; nothing here imports pyspark.
"""
