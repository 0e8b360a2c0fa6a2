"""The engine: runs DAGs of operators over Arrow batches in one process. The engine knows no SQL.

The engine builds on :mod:`sqlfront_values` (types, expressions, functions). :mod:`sqlfront_cluster` uses the
engine to run jobs on several members.

The input is a DAG: its vertices are processors (operators as frozen data), its edges define the routing of
batches. The output is a light job, whose result is read batch by batch. The steps between::

    DAG             the computation, on any number of threads and members              dag
      |  place: the participants, and the owner of each partition                      plans.placement
    Blueprint       the DAG's shape on one member, made once                           plans.blueprint
      |  plan_execution: one tasklet per processor instance, one queue per connection  plans.execution_plan
    ExecutionPlan
      |  tasklets drive the processors' generators; queues bound batches in transit    tasklet, edges
    Execution       counts its tasklets down, keeps the first error, stops the rest    jobs.execution
      |  cooperative workers, threads of their own, or the caller's thread             scheduler
    LightJob        read, join, cancel, statistics                                     jobs.light_job

:class:`~sqlfront_engine.engine.Engine` puts the steps together: ``engine.run(dag, config)``.

Reading order:

* **Operators.** :mod:`.processor` is the contract: a generator yields ``Take(ordinal)`` for input and
  batches for output, and knows no queue, thread or member. :mod:`.processors` has one operator a file.
* **Without a job.** The processors of a query of few rows offer a second method, ``rows``: a function over
  Python tuples, called on the caller's thread (:mod:`.row_programs`).
* **Running a DAG.** :mod:`.dag`, :mod:`.plans`, :mod:`.tasklet`, :mod:`.edges`, :mod:`.scheduler`,
  :mod:`.jobs`, :mod:`.engine`. :mod:`.memory` counts the bytes held by operators, :mod:`.job_statistics` has
  the counters of a job, :mod:`.dot` draws a DAG.
* **Rows in files.** :mod:`.spool` writes rows to Arrow IPC files and reads them again: the outputs of
  durable jobs.
* **Durable jobs.** :mod:`.durable` runs a DAG so that the job goes on when its coordinator dies: in stages,
  whose outputs are spool files, with a log of finished tasks. Light jobs import nothing of it.
* **Tests.** :mod:`.testing`: the hostile harness for processors, a manual clock.

Invariants of all parts of the engine:

* No thread polls, and no tasklet waits while it occupies a worker. A tasklet without work gives up its
  thread; every change of a queue wakes the tasklet at the queue's other end. Only processors with
  ``cooperative = False`` may block.
* The rows of a DAG do not depend on the order in which its tasklets run; tests run tasklets in random
  orders.
* When a consumer has enough, its producers' generators are closed, up to the sources. When a job fails, is
  cancelled or abandoned, all its generators are closed. An ended job holds only its counters and the unread
  part of its result.
* Finalizers run only in the process that made the object (:mod:`.forks`).
* Memory accumulated by operators is charged to a budget per query and per member; the queues bound the
  batches in transit.
"""
