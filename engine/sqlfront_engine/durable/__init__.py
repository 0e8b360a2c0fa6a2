"""Durable jobs: batch work that goes on when its coordinator dies.

The input is the DAG that a light job would run on several members. The output is a result in files. In
between, the DAG is cut into *stages*; each stage has *tasks*; the output of a finished task is materialised,
and its completion is written to the job's log before a consumer may read the output. When the coordinator
dies, another one reads the log and runs the tasks that are not finished. A light job writes no log and never
enters this package: nothing here loads before the first durable job. The steps::

    DAG            the plan of a query on several members
      |  cut: distributed edges become files between stages                         stages, parts, free_inputs
    StagePlan
      |  replanned: with few held rows, or one key with most rows, another plan     adaptive, plan_changes
      |  the tasks of a stage, by the sizes that were really written                division
    TaskRun        one run of one task
      |  fragment: the stage's vertices between SpoolScan and SpoolWrite            tasks
    light job      on some member, whose end is reported                            runner, thread_runner
      |  Coordinator: the record of the end is durable, then the files count        coordinator
    rows           all stages are finished
      |  JobTarget: a directory or a table takes all rows, or none                  target
    JobEnded       the result's files, or the number of rows in the target, or an error

After a crash::

    Replay         the events that count                                            event_store
      |  JobState: the sum of the events                                            job_state
      |  reset_after_loss: what has to run again, because files are lost            recovery
      |  take_over: the first record of the next epoch says what is accepted        takeover
      |  retain: members keep outputs on their disks; what is lost runs again       held_outputs
      |  adopt: tasks that still run on members count as this coordinator's         runner, coordinator
    Coordinator    goes on

Reading order: :mod:`.stages`, :mod:`.tasks`, :mod:`.coordinator`, :mod:`.adaptive`, :mod:`.recovery`,
:mod:`.takeover`; :mod:`.split_runner` divides the tasks between two runners; :mod:`.split_assignments` gives
the splits of sources that can't list them to tasks; :mod:`.event_store` has the log, the epochs of
coordinators, and the owner of a store; :mod:`sqlfront_engine.spool` has the files, and
:mod:`sqlfront_engine.storage` the directories and object storages in which logs and files are.

Guarantees:

* **A finished task runs again only if its files are lost and still needed**, or if it has read rows that a
  second run of another task may make differently.
* **The result has each row once**, whenever coordinators die. The rows that count are those of one accepted
  attempt of each task; each attempt has files of its own.
* **A change of the plan is decided once.** The decision is durable before it takes effect; a successor
  repeats it.
* **A job has one end.** The end is durable before anybody is told; an ended job never runs again.
* **A running task is adopted** if the runner's runs outlive the coordinator, and if the task would read the
  same files again. Its end is recorded with the attempt of the former epoch.
* **Nothing is left behind.** After the end of the job its files are the result's; files of attempts that no
  record tells of, and that are not adopted, are removed at the next takeover.

Invariants of the code: the coordinator's thread alone changes the job's state, by events that are durable; a
task runs on one thread, so that a second run over the same files gives the same rows in the same order.
"""
