"""The engine: runs DAGs of operators over Arrow batches, in one process. The engine knows no SQL.

The engine stands on :mod:`sqlfront_values` (types, expressions, functions); :mod:`sqlfront_cluster` runs jobs
on several members with it.

In goes a DAG whose vertices are processors (operators as frozen data) and whose edges say how batches are
routed; out comes a light job, whose result is read batch by batch. Everything between is this::

    DAG             what is to be computed, on however many threads and members        dag
      |  place: who takes part, and who handles which partitions                       plans.placement
    Blueprint       the DAG's shape on one member, made once                           plans.blueprint
      |  plan_execution: one tasklet per processor instance, one queue per connection  plans.execution_plan
    ExecutionPlan
      |  tasklets drive the processors' generators; queues bound what is under way     tasklet, edges
    Execution       counts its tasklets down, keeps the first error, stops the rest    jobs.execution
      |  cooperative workers, threads of their own, or the caller's thread             scheduler
    LightJob        read, join, cancel, statistics                                     jobs.light_job

:class:`~sqlfront_engine.engine.Engine` puts it together: ``engine.run(dag, config)``.

To be read in this order:

* **Operators.** :mod:`.processor` is the contract: a generator that yields ``Take(ordinal)`` for input and
  batches for output, and knows no queue, thread or member. :mod:`.processors` has one operator a file.
* **Without a job.** :mod:`.row_programs`: what queries of a few rows run on, tuple by tuple, on the caller's
  thread.
* **Running them.** :mod:`.dag`, :mod:`.plans`, :mod:`.tasklet`, :mod:`.edges`, :mod:`.scheduler`,
  :mod:`.jobs`, :mod:`.engine`. :mod:`.memory` counts what operators hold, :mod:`.job_statistics` says what a
  job did or does, :mod:`.dot` draws a DAG.
* **Testing them.** :mod:`.testing`: the hostile harness for processors, a clock that stands still.

What holds everywhere:

* Nobody polls, and nobody waits while holding a worker. A tasklet that finds nothing to do gives up its
  thread; whoever changes a queue wakes the tasklet at its other end. Only processors with
  ``cooperative = False`` may block.
* The same DAG gives the same rows in whatever order its tasklets run; tests run them in random orders.
* When a consumer has enough, its producers' generators are closed, up to the sources. When a job fails, is
  cancelled or abandoned, all of them are. An ended job holds nothing but its counters and the unread part of
  its result.
* What is called when an object is forgotten is called in the process that made it, by :mod:`.forks`.
* What operators accumulate is charged to a budget per query and per member; what is under way is bounded by
  the queues.
"""
