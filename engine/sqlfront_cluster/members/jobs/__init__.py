"""Light jobs of several members, from the DAG to the last answer.

In comes a DAG, from a session of this process or in the message of a client. The coordinator sends it to the
participants; their batches come in and go out as messages, and the result's rows go to the submitter. In
reading order:

* The coordinator: ``job_coordinator`` (all jobs) and ``coordination`` (one job), with ``placements`` (the
  members that run each vertex) and ``job_starts`` (the messages that start a job).
* A participant: ``job_participant`` (all jobs) and ``participation`` (one job's part), with ``wire`` (the
  batches as messages) and ``inline_pump`` (jobs so small that they need no thread).
* Both: ``job_table`` (the jobs that run here or have ended), ``checker`` (finds lost messages) and
  ``job_timers`` (periodic work).
* Clients without a place in the member list: ``submissions`` and ``client_dag`` (the client's side),
  ``client_jobs`` (the member's side).
"""
