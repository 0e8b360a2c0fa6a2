"""How members talk: messages and Arrow bodies between two members, in order, without waiting.

In goes a message (a tagged :class:`msgspec.Struct`) with a body (buffers of Arrow IPC), out it comes on the
other member, in a call of its :class:`~sqlfront_cluster.network.transport.Receiver`. What a member needs to
know is in :mod:`.transport`; two implementations are here, a third, with seeded delays and faults, is part of
the simulation:

* :mod:`.loopback`: members of one process; objects are handed over by reference.
* :mod:`.tcp`: TCP and Unix sockets between processes, to be read bottom up: :mod:`.addresses` (what an
  address means), :mod:`.channels` (bytes, plain or in TLS), :mod:`.frames` (bytes to validated messages),
  :mod:`.handshake` (who is there, proven), :mod:`.settlement` (one connection per pair), :mod:`.connection`
  (a peer), :mod:`.attending` (who waits reads), :mod:`.tcp` (listening, dialling, closing).

Blocking sockets with a reader thread per connection were measured quickest (``benchmarks/network.py``).
Nothing that arrives is unpickled, and nothing is decoded as a message before the other side has proven that
it knows the cluster's secret.
"""
