"""The spool: rows that wait for their readers in Arrow IPC files.

The outputs of durable jobs are spool files; operators that spill and shared subplans may use them, too. The
input is batches, each for a *bucket*: a number under which a reader later requests the rows. The output is
the batches of any range of buckets. In between there is a file, and a description of the file that is sent to
readers instead of the rows::

    batches, each for a bucket
      |  without dictionaries and views, collected per bucket         stored_form, spool_file
    record batches, one per bucket each time that the buffer is full
      |  an Arrow IPC file that is checksummed while it grows         (storage)
    SpoolFile  path, rows, bytes; place and checksum of each batch   spool_file
      |  checked, then the record batches of some buckets             reading
    batches

Reading order: :mod:`.spool_file`, :mod:`.reading`; :mod:`.stored_form` has the details, :mod:`.places` the
way to files on the disks of members.
:mod:`sqlfront_engine.storage` has the directories and object storages in which the files are;
:mod:`sqlfront_engine.processors.spool` has the operators that write and read spool files.

Guarantees:

* **A file is complete or absent.** In a directory the file grows under a temporary name, and is renamed at
  its end; in an object storage the object exists when its last part is there. After ``finish`` the file
  survives a failure of the machine. An error, a closed generator and an abandoned writer leave no file; a
  killed process leaves its temporary file, which ``remove_temporaries`` finds, or parts of an upload, which
  the storage's rule for incomplete uploads removes.
* **An incomplete file is never read as a complete one.** Arrow's stream format can be cut between two batches
  unnoticed, so these are files of Arrow's file format, which has its index at the end. Size, schema and the
  numbers of batches and rows are compared with the description at each reading.
* **Damage is found before the rows count.** Arrow doesn't notice a flipped bit. Each record batch has a
  checksum of its own, which is compared before the batch is decoded.
* **Order is preserved.** The rows of a bucket are read in the order in which they were written.

Invariants of the code: a file has one writer; each file of an output has the same schema, whatever form the
batches came in; a writer holds at most its buffer, or one larger batch of at most 64k rows, and a reader
holds one record batch.
"""
