"""Durable jobs: batch work that goes on when its coordinator dies.

A *durable job* is cut into stages; the output of a finished task is materialised, and its completion is
written to the job's log before a consumer may read the output. When the coordinator dies, another member
reads the log and runs the tasks that are not finished. A light job writes no log and never enters this
package: nothing here loads before the first durable job.

Reading order:

* :mod:`.event_store`: the log of a job, the epochs of its coordinators, and the owner of a store.
"""
