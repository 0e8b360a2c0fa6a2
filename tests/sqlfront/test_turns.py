"""Writers that wait for their turn."""

import pytest

from sqlfront_values.errors import OperationalError
from tests.sqlfront.simulated import Statement, TableTown


def test_a_session_that_the_cluster_has_given_up_waits_no_longer_for_its_turn() -> None:
    """It hears of no change any more: it waited until the time was over, and named another session."""
    town = TableTown("m0", "m1", "client-0", "client-1", seed=1)
    town.create("client-0", None, ((1, 1),))
    session = town.sessions["client-0"]
    (table,) = session.spread_tables()

    def hold() -> None:
        session.begin_turn(table)

    town.complete(Statement("client-0", hold))
    town.simulation.pass_time(0.5)

    waiting = town.update("client-1", 2)
    town.resume(waiting)
    town.keeper.remove("client-1", "its process was killed")
    began = town.simulation.time
    with pytest.raises(
        OperationalError, match="was removed: its process was killed; nothing was changed"
    ) as error:
        town.complete(waiting)
    assert error.value.sqlstate == "08006"
    assert town.simulation.time < began + 3
