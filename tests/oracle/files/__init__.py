"""Files of every format, odd ones above all, read by Spark and by sqlfront: same schema, same rows.

Reading order: ``cases`` (a case: files, reading options, the way of reading), ``csv_cases`` and its like (one
module per format makes cases from a seed), ``generators`` (all of them), ``reading`` (a case read by a
subject, two readings compared), ``run`` (the command).
"""
