"""Jobs: one run of a DAG.

``execution`` counts a job's tasklets down on this member, ``light_job`` is the submitter's handle of a job,
``query_run`` is the state shared by the jobs of one query.
"""

from sqlfront_values.lazy_modules import lazy_submodules

lazy_submodules(__name__, "execution", "light_job")
