"""The caretaker of a cluster's tables: what it tries again."""

from types import SimpleNamespace
from typing import TYPE_CHECKING, cast

import pytest

from sqlfront.cluster.caretaker import Caretaker
from sqlfront.cluster.documents import Documents
from sqlfront_cluster.members.protocol.member_list import MemberInfo, MemberList

if TYPE_CHECKING:
    from sqlfront.state.context import Context

MEMBERS = MemberInfo("a"), MemberInfo("b")


def test_the_keeper_is_asked_again_until_all_members_own_partitions(monkeypatch: pytest.MonkeyPatch) -> None:
    """The request was sent once: if it got lost, a newcomer owned nothing until something else changed."""
    monkeypatch.setattr(Caretaker, "_renew", lambda caretaker, context: None)
    asked: list[None] = []
    documents = SimpleNamespace(keys=lambda prefix: (), rebalance=lambda: asked.append(None))
    cluster = SimpleNamespace(member_list=MemberList(1, MEMBERS, ("a", "a")))
    context = cast("Context", SimpleNamespace(catalog=SimpleNamespace(entries=tuple), cluster=cluster))
    caretaker = Caretaker(lambda: context, cast(Documents, documents), everybodys=True)

    assert [caretaker._look(context), caretaker._look(context)] == [False, False]
    assert len(asked) == 2
    cluster.member_list = MemberList(2, MEMBERS, ("a", "b"))
    assert caretaker._look(context)
    assert len(asked) == 2
