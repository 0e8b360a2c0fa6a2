"""The words of Spark's errors: every failing record of ``tests/slt`` with Spark's message.

A record stores its error's condition and SQLSTATE; the words, which hold the parameters of the condition, are
in ``messages.jsonl`` here. ``gaps.txt`` is the strict list of the records whose words differ still::

    python -m tests.oracle.errors.complete              ask Spark, and store its messages
    python -m tests.oracle.errors.comparison            print the messages that differ, and the counts
    python -m tests.oracle.errors.comparison --write    write gaps.txt anew, too
"""
