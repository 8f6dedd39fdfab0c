"""pytest-xdist's own way to give files to workers, but which file is next is said by ``tests.schedule``."""

from __future__ import annotations

from itertools import count

import pytest
from xdist.remote import Producer
from xdist.scheduler import LoadFileScheduling
from xdist.workermanage import WorkerController

from tests import schedule


class ByKind(LoadFileScheduling):
    """A file to a worker, of its kind: a worker that takes the place of one that crashed has that one's."""

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
