"""Durable jobs of a session: statements that go on when the process that runs them dies.

:class:`~sqlfront.jobs.service.JobService` submits, resumes, cancels and drops the jobs of a store, and runs
each job with a coordinator of :mod:`sqlfront_engine.durable` on a thread; :mod:`.takeover_watch` has a
session take over jobs whose process is gone; :mod:`.stored_jobs` reads the jobs of a store, and
:mod:`.durable_job` is the user's handle of a job. :mod:`.job_plan` has the plan that a job's log stores,
:mod:`.job_dag` makes the job's DAG, :mod:`.spread_sources` has the memory tables of a cluster as a job reads
them, :mod:`.job_resources` keeps what the sources of running jobs need, :mod:`.job_session` is what a job
needs of its session, :mod:`.spooled_rows` reads the rows that a finished job has left in files,
:mod:`.job_rows` removes a job whose rows a result has read, :mod:`.listing` makes the rows of ``sys.jobs``,
``sys.job_stages``, ``sys.job_tasks`` and ``sys.job_events``. The statements, such as CREATE JOB, and the
targets of jobs are in :mod:`sqlfront.commands.jobs` and :mod:`sqlfront.commands.spark_targets`; queries that
are jobs by SET sqlfront.lane = durable are in :mod:`sqlfront.commands.durable_way`.
"""
