"""Durable jobs of a session: statements that go on when the process that runs them dies.

:class:`~sqlfront.jobs.service.JobService` submits, resumes, cancels and drops the jobs of a store, and runs
each with a coordinator of :mod:`sqlfront_engine.durable` on a thread; :class:`~.service.DurableJob` is the
job as its user sees it. :mod:`.job_plan` has what a job's log says of the statement, :mod:`.job_dag` the DAG
with the rows that several parts of a query share, :mod:`.spooled_rows` the rows that a finished job has left
in files, :mod:`.listing` the rows of ``sys.jobs`` and its like. The statements (CREATE JOB and its like), and
the targets of jobs, are in :mod:`sqlfront.commands.jobs`.
"""
