"""The resources of one check: a connection, and unique names for topics, groups and transactional ids."""

from __future__ import annotations

import contextlib

from oncelog.apps.conformance.raw.share_members import set_group
from oncelog.apps.conformance.raw.single_node import name_on_node
from oncelog.apps.conformance.raw.transactional_producer import find_coordinator
from oncelog.apps.conformance.raw.wire import GROUP, TRANSACTION, RawConnection


class Fixture:
    """The connection and names of one check."""

    def __init__(self, connection: RawConnection, name: str) -> None:
        self.connection = connection
        self.name = name
        """A unique name for the check's topic, transactional id or group, or a prefix for the names of several."""
        self._topic = ""
        self._closing = contextlib.ExitStack()

    def topic(self) -> str:
        """A topic with one partition, created at the first call."""
        if not self._topic:
            self.connection.create_topic(self.name)
            self._topic = self.name
        return self._topic

    def group(self) -> str:
        """The name of a new group whose coordinator is the node of this connection; other nodes do not list the
        group."""
        name, world = f"{self.name}-group", self.connection.world
        if world is not None:
            name = name_on_node(self.connection, world, name, GROUP)
        find_coordinator(self.connection, name, GROUP)
        return name

    def on_this_node(self, transactional_id: str) -> str:
        """A transactional id whose coordinator is the node of this connection: the given one, or the given one with a
        number appended."""
        world = self.connection.world
        return (
            transactional_id if world is None else name_on_node(self.connection, world, transactional_id, TRANSACTION)
        )

    def second(self) -> RawConnection:
        """Another connection, so that a request can be sent while an earlier one waits for its answer."""
        return self._closing.enter_context(self.connection.another())

    def set_group(self, group: str, name: str, value: str) -> None:
        """Set a property of a group until the check ends."""
        set_group(self.connection, group, name, value)
        self._closing.callback(set_group, self.connection, group, name, None)

    def close(self) -> None:
        self._closing.close()
