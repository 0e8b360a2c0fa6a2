"""A session's access to the documents of its cluster: it makes one change at a time, and waits for the
change."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from queue import Empty, SimpleQueue
from threading import Condition
from time import monotonic
from typing import Final

from sqlfront_cluster import codec
from sqlfront_cluster.members.membership.document_copies import PutOutcome
from sqlfront_cluster.members.membership.membership import Membership
from sqlfront_cluster.members.protocol.document import ConditionalChange, Document, Premises
from sqlfront_connectors.memory.spread.documents import TURN, Turn, turn_of
from sqlfront_values import room
from sqlfront_values.errors import OperationalError

#: Seconds that an answer of the keeper may take: twice the silence limit's default of 30 seconds, since the
#: keeper first has to hear from every member, or give the member up.
ANSWER_TIMEOUT: Final = 60.0
#: The SQLSTATE of a change of which nobody knows whether it was made.
UNKNOWN: Final = "08007"
#: Seconds that a writer waits for its turn; a statement that writes longer makes the next writer fail.
TURN_TIMEOUT: Final = 60.0
#: Seconds after which a writer that waits for its turn looks whether its session is still in the cluster, and
#: its statement still wanted.
LOOK: Final = 0.05
#: Attempts to give back a turn that may still be held, and seconds between the attempts: a minute in all, as
#: long as other writers wait.
GIVE_BACK_TRIES: Final = 60
GIVE_BACK_PERIOD: Final = 1.0


class Documents:
    """The documents of the cluster that ``membership`` belongs to, read from this process's copy and changed
    by the keeper. Some documents are turns: a turn is the exclusive right of one session to write to a table.
    """

    def __init__(self, membership: Membership) -> None:
        self._membership = membership
        self._changed = Condition()
        #: The number of changes of documents and of the member list so far.
        self.changes = 0
        # The tokens of the turns that this session holds, by key.
        self._tokens: dict[str, str] = {}
        membership.watchers.append(lambda key: self._note())
        membership.list_watchers.append(self._note)

    def _note(self) -> None:
        with self._changed:
            self.changes += 1
            self._changed.notify_all()

    def get(self, key: str) -> Document | None:
        """Return the document of the key, in the last version that this process has received; None if there
        is none."""
        return self._membership.documents.get(key)

    def keys(self, prefix: str) -> tuple[str, ...]:
        """Return the keys of all documents whose keys begin with ``prefix``."""
        return tuple(key for key in tuple(self._membership.documents) if key.startswith(prefix))

    def put(self, change: ConditionalChange, *, completes: bool = False) -> bool:
        """Ask the keeper to make a change of a document, and wait for the answer; the wait ends when the
        statement of this thread is cancelled or its timeout is over. Return whether the change was made; if
        so, every member has it. ``completes``: the change completes what earlier ones have begun, so that
        the request stays when the statement is stopped, and the change is made as soon as there is a keeper.

        Raises OperationalError if the keeper doesn't answer; with SQLSTATE 08007 the change may have been
        made, or be made yet. Raises :class:`~sqlfront_values.room.StoppedError` if the statement is stopped
        before the request has found a keeper; then nothing is changed.
        """
        outcomes = SimpleQueue[PutOutcome]()
        request = self._membership.put(change, outcomes.put)
        outcome = self._awaited(outcomes, request, completes=completes)
        if isinstance(outcome, OperationalError):
            raise outcome
        return outcome.stored

    def _awaited(self, outcomes: SimpleQueue[PutOutcome], request: int, *, completes: bool) -> PutOutcome:
        """Wait for the outcome of the ``request`` for a change; see :meth:`put` for the errors."""
        ends = monotonic() + ANSWER_TIMEOUT
        while monotonic() < ends:
            try:
                return outcomes.get(timeout=LOOK)
            except Empty:
                self._check_stopped(request, completes=completes)
        raise _unanswered(f"for {ANSWER_TIMEOUT:g} s")

    def _check_stopped(self, request: int, *, completes: bool) -> None:
        """Raise an error if the statement of this thread is stopped: the one that says so if the ``request``
        was not sent yet and is given up, else one that says that the change may have been made."""
        try:
            room.check()
        except room.StoppedError:
            if not completes and self._membership.withdraw(request):
                raise
            raise _unanswered("until the statement was cancelled or its timeout was over") from None

    def remove(self, key: str) -> None:
        """Ask the keeper to remove the document ``key``, which nothing refers to any more, and wait until
        that is done. If the statement of this thread is stopped first, or there is no keeper, return, and
        the document is removed later. Raises OperationalError (08006) if this session has left the
        cluster."""
        try:
            self.put(ConditionalChange(key, None, None), completes=True)
        except OperationalError as error:
            if error.sqlstate != UNKNOWN:
                raise

    def forget(self, key: str) -> None:
        """Ask the keeper to remove the document ``key``, which nothing refers to; returns at once."""
        self._membership.put(ConditionalChange(key, None, None), lambda outcome: None)

    def renew(self, key: str, version: int, premises: Premises = (), tries: int = GIVE_BACK_TRIES) -> None:
        """Ask the keeper to give the document ``key`` a new version with the same content, and again after
        each second, ``tries`` times, as long as its version is ``version``: from then on no change can be
        made that expects this version. ``premises``: as in
        :class:`ConditionalChange`. Returns at once."""
        document = self.get(key)
        if document is None or document.version != version:
            return
        self._membership.put(
            ConditionalChange(key, document.content, version, premises), lambda outcome: None
        )
        if tries:
            clock = self._membership.member.engine.clock
            again = partial(self.renew, key, version, premises, tries - 1)
            clock.call_at(clock.now() + GIVE_BACK_PERIOD, again)

    def version(self, key: str) -> int:
        """Return the version of a document; 0 = no document."""
        document = self.get(key)
        return 0 if document is None else document.version

    def await_change(self, seconds: float) -> None:
        """Wait until a document or the member list has changed, but at most ``seconds``."""
        self.await_after(self.changes, seconds)

    def await_after(self, changes: int, seconds: float) -> bool:
        """Wait until :attr:`changes` has another value than ``changes``, but at most ``seconds``; return
        whether it has."""
        with self._changed:
            return self._changed.wait_for(lambda: self.changes != changes, seconds)

    def is_present(self, member: str) -> bool:
        """Return whether the member or client with this name is in the cluster."""
        return self._membership.is_present(member)

    def rebalance(self) -> None:
        """Ask the keeper to distribute the partitions evenly over the members; returns at once, before that
        is done."""
        self._membership.rebalance()

    # ---- turns

    def begin_turn(self, name: str, what: str, token: str) -> bool:
        """Wait until no present member holds the turn ``name``, the exclusive right to write to a table, and
        take it. ``token`` is a text unique to this call; ``what``, the table's name, is for the error
        message. Return True if the turn's last holder was lost while it held the turn, so that its writes may
        be incomplete; else False. Raises OperationalError: 55P03 if others hold the turn for longer than
        :data:`TURN_TIMEOUT` seconds, 08006 if the cluster gives this session up meanwhile, and
        :class:`~sqlfront_values.room.StoppedError` if the statement of this thread is cancelled or its
        timeout is over."""
        key, mine = f"{TURN}{name}", codec.encode(Turn(self._membership.name, token))
        clock = self._membership.member.engine.clock
        deadline = clock.now() + TURN_TIMEOUT
        while True:
            before = self.changes
            self._membership.check_present()
            current = self.get(key)
            if current is None or not self.is_present(turn_of(current).holder):
                if self._take(key, token, mine, 0 if current is None else current.version):
                    return current is not None
                continue
            room.check()
            changed = self.await_after(before, min(deadline - clock.now(), LOOK))
            if not changed and clock.now() >= deadline:
                raise OperationalError(
                    f"{turn_of(current).holder} has been writing to {what} for more than {TURN_TIMEOUT:g} s",
                    sqlstate="55P03",
                )

    def _take(self, key: str, token: str, mine: bytes, expected: int) -> bool:
        try:
            taken = self.put(ConditionalChange(key, mine, expected))
        except BaseException:  # also Ctrl-C: the turn may have been taken nevertheless
            self._give_back(key, token)
            room.check()  # no answer in the statement's time: nothing is written without a turn
            raise
        if taken:
            self._tokens[key] = token
        return taken

    def end_turn(self, name: str) -> None:
        """Give up the turn ``name``, the exclusive right to write to a table, if this session holds it, so
        that other sessions can take it. If the keeper can't be reached, or the statement of this thread is
        stopped before the answer comes, this is tried again in the background."""
        key = f"{TURN}{name}"
        token = self._tokens.pop(key, None)
        document = self.get(key)
        if token is None or document is None or turn_of(document).token != token:
            return
        try:
            if not self.put(ConditionalChange(key, None, document.version)):
                self._give_back(key, token)
        except OperationalError:
            self._give_back(key, token)
        except BaseException:
            self._give_back(key, token)
            raise

    def _give_back(self, key: str, token: str, tries: int = GIVE_BACK_TRIES) -> None:
        """Ask the keeper to remove the turn ``key``, if it exists with this token, and again after each
        second, ``tries`` times. Returns at once."""
        document = self.get(key)
        if document is not None and turn_of(document).token == token:
            self._membership.put(ConditionalChange(key, None, document.version), lambda outcome: None)
        if tries:
            clock = self._membership.member.engine.clock
            again = partial(self._give_back, key, token, tries - 1)
            clock.call_at(clock.now() + GIVE_BACK_PERIOD, again)

    def is_abandoned(self, name: str) -> bool:
        """Return whether the turn ``name``, the exclusive right to write to a table, is held by a member that
        is no longer in the member list."""
        current = self.get(f"{TURN}{name}")
        return current is not None and not self.is_present(turn_of(current).holder)

    @contextmanager
    def turn(self, name: str, what: str, token: str) -> Iterator[bool]:
        """Return a context in which this session holds the turn ``name``, the exclusive right to write to a
        table. It yields True if the turn's last holder was lost while it held the turn, so that its writes
        may be incomplete; else False. ``what``, the table's name, is for error messages; ``token`` is a text
        unique to this call. Raises OperationalError (55P03) if others hold the turn for too long."""
        try:
            yield self.begin_turn(name, what, token)
        finally:
            if self._tokens.get(f"{TURN}{name}") == token:
                self.end_turn(name)


def _unanswered(how_long: str) -> OperationalError:
    return OperationalError(
        f"the keeper has not answered {how_long}; the change may have been made", sqlstate=UNKNOWN
    )
