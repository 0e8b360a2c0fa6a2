"""Jobs: one run of a DAG.

``execution`` counts a job's tasklets down on this member, ``light_job`` is the job as its submitter sees it,
``query_run`` is what the jobs of one query share.
"""
