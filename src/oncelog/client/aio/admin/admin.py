"""The asyncio admin client: topics, groups, transactions, rights, users. Called by programs and the command line.

Calls raise a ``KafkaError`` that names the thing and the reason, after repeating retriable errors for
``default.api.timeout.ms``.
"""

from __future__ import annotations

from oncelog.client.aio.admin.admin_groups import GroupsAdmin
from oncelog.client.aio.admin.admin_replicas import ReplicasAdmin
from oncelog.client.aio.admin.admin_security import SecurityAdmin
from oncelog.client.aio.admin.admin_share_groups import ShareGroupsAdmin
from oncelog.client.aio.admin.admin_topics import TopicsAdmin
from oncelog.client.aio.admin.admin_transactions import TransactionsAdmin
from oncelog.client.core.admin.admin_types import ConfigResource, ConfigResourceType, NewTopic, RecordsToDelete


class Admin(TopicsAdmin, ReplicasAdmin, GroupsAdmin, ShareGroupsAdmin, TransactionsAdmin, SecurityAdmin):
    """The administrative API of a cluster. Settings are keyword arguments, or a ready ``AdminConfig``."""


__all__ = ["Admin", "ConfigResource", "ConfigResourceType", "NewTopic", "RecordsToDelete"]
