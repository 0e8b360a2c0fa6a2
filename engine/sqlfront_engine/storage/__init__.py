"""Storage: directories, and prefixes of object storages, behind one contract.

Durable jobs keep their logs and their spool files here. The input is an *address*: the path of a directory,
or a URL such as ``s3://bucket/jobs``. The output is a folder whose files are created, listed, read and
removed in the same way wherever they are::

    address
      |  a path, or a URL whose protocol creates an object only if it is absent      addresses
    Folder           the contract: names, whole files, growing files, removals       folders
      LocalFolder    a directory: fsync, rename, exclusive creation by the system    local_folder
      ObjectFolder   a prefix of an object storage, through fsspec                   object_folder
    GrowingFile      a file that is absent until it is complete                      growing_file
    at_once          several requests at a time                                      requests

Reading order: :mod:`.folders`, :mod:`.growing_file`, :mod:`.local_folder`, :mod:`.object_folder`,
:mod:`.addresses`.

Guarantees:

* **A file is complete or absent.** A growing file has a temporary name in a directory, and no name in an
  object storage, until it is published. Of several creations of one name one succeeds.
* **What is published is durable**, and so is what a :class:`~.folders.LogFile` has committed.
* **A storage that can't tell whether a file exists is an error**, never an absent file.

Nothing of fsspec loads before the first URL.
"""
