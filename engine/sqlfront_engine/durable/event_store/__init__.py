"""The event store: the logs of durable jobs, from which a coordinator's successor learns what is done.

The input is *events* (a job was submitted, a task finished, tasks were reset ...). The output is a *replay*:
the events of a job that count, in their order. In between the events are on disk, or are objects of an object
storage::

    events       the events of a job and the JSON of each                                   events
    records      an event with its frame: length, type, epoch, sequence, checksums          records
    Folder       files that only grow, or objects created only if absent                    (storage)
    EventLog     appends: many threads share one fsync; a failure is loud                   event_log
    Replay       the records that count, and what was left out or found damaged             replay
    ownership    one cluster writes to a store: a lock of the system, or a lease            ownership
    JobStore     puts these together: jobs, read, own, take_epoch                           job_store
    log_lines    the log as text, for people                                                log_lines

Reading order: :mod:`.events`, :mod:`.records`, :mod:`.event_log`, :mod:`.replay`, :mod:`.job_store`.

The files of one job lie in one folder::

    <store>/owner                                 the cluster that owns the store
    <store>/jobs/<job>/epoch.000002               the claim of epoch 2, created exclusively
    <store>/jobs/<job>/events.000002.000000       records of epoch 2, first file

Guarantees:

* **An acknowledged record is read back.** ``append_durably`` returns after fsync of the file, and of the
  folder if the file is new. A crash loses only records that nobody had been told of: the torn end of the
  newest file is left out, and the replay says so.
* **Damage is never silent.** Each record carries the number of the last record that was durable when the
  record was written. So the reader can tell a torn end, after which nothing proves the lost record durable,
  from damage to an acknowledged record. Damage ends the replay there; the replay names file and offset.
* **A former coordinator changes nothing.** A coordinator holds an *epoch*. Its successor first claims the
  next epoch, then reads, then names in its own first record what it accepts of the epoch before (file,
  offset, digest). Records behind that place don't count. A coordinator looks for a claim of the next epoch
  before it acknowledges a record, so that its successor has read each record that was acknowledged.
* **What a successor accepts is durable.** A record that can be read may be in memory only: its writer died
  between write and fsync, or the fsync failed. The successor writes the last group once more, in its place,
  and syncs it before its own first record. The groups before were durable before the last one was written.
* **A file is never trusted after a failed write or fsync.** The kernel may have dropped the pages and report
  success the next time. The records go into a new file; if that fails too, the job fails or goes on
  unprotected, by policy.

Invariants of the code: one file has one writer; the sequence numbers of a job have no gaps, over all epochs;
where two files hold the same sequence number, the later file counts.
"""
