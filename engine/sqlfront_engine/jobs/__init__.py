"""Jobs: runs of a DAG.

``execution`` runs a job's tasklets on this member until the last one has ended, ``light_job`` has the handle
of a job for its submitter, ``query_run`` is the state that the jobs of one query share.
"""

from sqlfront_values.lazy_modules import lazy_submodules

lazy_submodules(__name__, "execution", "light_job")
