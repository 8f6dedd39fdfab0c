"""What one check works with: a connection, and names for topics, groups and transactional ids that nobody else uses."""

from __future__ import annotations

import contextlib

from oncelog.conformance.home import name_at_home
from oncelog.conformance.transactions import find_coordinator
from oncelog.conformance.wire import GROUP, TRANSACTION, Connection


class Bench:
    """One check's own."""

    def __init__(self, connection: Connection, name: str) -> None:
        self.connection = connection
        self.name = name
        """For a topic, a transactional id or a group, or the beginning of several."""
        self._topic = ""
        self._closing = contextlib.ExitStack()

    def topic(self) -> str:
        """A new topic of one partition; the same one when asked again."""
        if not self._topic:
            self.connection.create_topic(self.name)
            self._topic = self.name
        return self._topic

    def group(self) -> str:
        """A group that the node which answers this connection coordinates: each node lists its own alone."""
        name, world = f"{self.name}-group", self.connection.world
        if world is not None:
            name = name_at_home(self.connection, world, name, GROUP)
        find_coordinator(self.connection, name, GROUP)
        return name

    def at_home(self, transactional_id: str) -> str:
        """The name, or one that begins with it, whose coordinator is the node that answers this connection."""
        world = self.connection.world
        return (
            transactional_id if world is None else name_at_home(self.connection, world, transactional_id, TRANSACTION)
        )

    def second(self) -> Connection:
        """Another connection, for what waits for one another."""
        return self._closing.enter_context(self.connection.another())

    def close(self) -> None:
        self._closing.close()
