"""The watchers that a session's configuration asks for."""

from sqlfront.config import Config
from sqlfront.observability.history import History
from sqlfront.observability.observer import Observer, StatementWatcher
from sqlfront.observability.statement_log import StatementLog
from sqlfront_cluster.members.member import Member
from sqlfront_engine.engine import Engine


def observer_of(config: Config, runner: Engine | Member) -> Observer:
    """Make the observer of a new session whose jobs ``runner`` runs, with its watchers."""
    watchers: list[StatementWatcher] = []
    history = None
    if config.query_history:
        history = History(config.query_history, runner, literals=config.show_literals)
        watchers.append(history)
    if config.slow_query is not None:
        watchers.append(StatementLog(config.slow_query, literals=config.show_literals))
    observer = Observer(watchers)
    if history is not None:
        history.observer = observer
    return observer
