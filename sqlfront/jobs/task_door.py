"""The door of a member to the tasks of durable jobs; what is behind loads with the first question."""

from collections.abc import Callable
from threading import Lock
from typing import TYPE_CHECKING, Final

from sqlfront_cluster.members.requests import RequestService
from sqlfront_engine.engine import Engine
from sqlfront_values.lazy_modules import lazy_module

if TYPE_CHECKING:
    from sqlfront.jobs import task_service
else:
    task_service = lazy_module("sqlfront.jobs.task_service")

#: The name of the service.
TASKS: Final = "durable tasks"


class TaskDoor(RequestService):
    """A member's service for questions about tasks, see
    :class:`~sqlfront.jobs.task_service.TaskService`."""

    def __init__(self) -> None:
        self._engine: Engine | None = None
        self._lock = Lock()
        self._service: task_service.TaskService | None = None

    def attach(self, engine: Engine) -> None:
        """Have the tasks run on the engine of the member."""
        self._engine = engine

    def answer(self, content: bytes) -> bytes:
        """See :meth:`~sqlfront_cluster.members.requests.RequestService.answer`."""
        with self._lock:
            if self._service is None:
                assert self._engine is not None
                self._service = task_service.TaskService(self._engine)
        return self._service.answer(content)

    def keep_present(self, is_present: Callable[[str], bool]) -> None:
        """Stop the tasks of coordinators that are not in the member list any more."""
        if self._service is not None:
            self._service.keep_present(is_present)
