"""A member's service for tasks of durable jobs that loads the modules for its answers with the first
question."""

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
    """A member's service for the tasks of durable jobs, which loads and makes a
    :class:`~sqlfront.jobs.task_service.TaskService` when the first question comes."""

    def __init__(self) -> None:
        self._engine: Engine | None = None
        self._lock = Lock()
        self._service: task_service.TaskService | None = None

    def attach(self, engine: Engine) -> None:
        """Set the member's engine, on which tasks will run; needed before the first question."""
        self._engine = engine

    def answer(self, content: bytes) -> bytes:
        """Answer an encoded question by the :class:`~sqlfront.jobs.task_service.TaskService`; see
        :meth:`~sqlfront_cluster.members.requests.RequestService.answer`."""
        with self._lock:
            if self._service is None:
                assert self._engine is not None
                self._service = task_service.TaskService(self._engine)
        return self._service.answer(content)

    def keep_present(self, is_present: Callable[[str], bool]) -> None:
        """Stop the tasks of coordinators that have left the cluster; ``is_present`` tells whether the member
        list has a name."""
        if self._service is not None:
            self._service.keep_present(is_present)
