"""Light jobs as objects: a DAG or a pipeline is submitted, and its submitter holds a :class:`~.job.Job`.

:mod:`.submission` starts a job, :mod:`.found_jobs` finds a running job by its id, :mod:`.job` is the object
that both give to the user. :mod:`.handle` has what light and durable jobs have in common; :mod:`.refusals`
has the calls and options that only durable jobs offer.
"""
