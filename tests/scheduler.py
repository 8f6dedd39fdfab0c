"""pytest-xdist's distribution of files among workers, except that ``tests.schedule`` chooses the next file."""

from __future__ import annotations

from itertools import count

import pytest
from xdist.remote import Producer
from xdist.scheduler import LoadFileScheduling
from xdist.workermanage import WorkerController

from tests import schedule


class ByKind(LoadFileScheduling):
    """Gives each worker a file of its kind: a worker that replaces a crashed one inherits the crashed one's kind."""

    def __init__(self, config: pytest.Config, log: Producer | None = None) -> None:
        super().__init__(config, log)
        self._places: dict[WorkerController, int] = {}

    def add_node(self, node: WorkerController) -> None:
        super().add_node(node)
        taken = self._places.values()
        self._places[node] = next(place for place in count() if place not in taken)

    def remove_node(self, node: WorkerController) -> str | None:
        del self._places[node]
        return super().remove_node(node)

    def _assign_work_unit(self, node: WorkerController) -> None:
        self.workqueue.move_to_end(schedule.choice(self.workqueue, self._places[node]), last=False)
        super()._assign_work_unit(node)
