"""Two-phase commit in the producer: a database decides whether a transaction commits (KIP-939).

Used by the producers in place of the plain transaction manager. The token that the database stores is Kafka's
``PreparedTxnState`` as text: ``PRODUCER_ID:EPOCH``, or empty for a transaction without contents. No two transactions of
a transactional id have the same token, and each token is greater than those before it: the epoch grows with every end,
and producer ids are never reused. Later producer ids are greater on oncelog's broker, the only one that keeps prepared
transactions, because one allocator serves all of its nodes. If they were not, an older token could be refused; the
check whether a token belongs to the prepared transaction does not depend on the order.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, ClassVar

from oncelog.client.core.client_errors import IllegalStateError
from oncelog.client.core.connection.error_rules import Step
from oncelog.client.core.transactions.coordinator_requests import CoordinatorRequest, Result
from oncelog.client.core.transactions.transaction_manager import TransactionManager
from oncelog.client.core.transactions.transaction_requests import RequestOutcome
from oncelog.client.core.transactions.transaction_states import Call, CallRule, ClientTxnState
from oncelog.errors import Error, KafkaError
from oncelog.runtime.deferred import Deferred
from oncelog.types import MAX_EPOCH, NO_PRODUCER, ProducerIdAndEpoch

_TOKEN = re.compile(r"([0-9]{1,19}):([0-9]{1,5})")

_REFUSALS: Mapping[Error, str] = {
    Error.TRANSACTIONAL_ID_AUTHORIZATION_FAILED: (
        ": two-phase commit needs transaction.two.phase.commit.enable=true on the broker, and, if it has ACLs, the "
        "operations Write and TwoPhaseCommit on the transactional id"
    ),
    Error.UNSUPPORTED_VERSION: (
        ": this cluster cannot keep prepared transactions; Apache Kafka up to 4.4 cannot, oncelog can with "
        "transaction.two.phase.commit.enable=true and transaction.version 2"
    ),
}


def token_of(producer: ProducerIdAndEpoch) -> str:
    return "" if producer == NO_PRODUCER else f"{producer.producer_id}:{producer.producer_epoch}"


def producer_of(token: str) -> ProducerIdAndEpoch:
    """The producer id and epoch in a token; ``NO_PRODUCER`` for an empty token.

    :raises ValueError: the text is not a token.
    """
    if not isinstance(token, str):
        raise TypeError(f"a token is a string returned by prepare(), not {token!r}")
    if token == "":
        return NO_PRODUCER
    found = _TOKEN.fullmatch(token)
    producer = NO_PRODUCER if found is None else ProducerIdAndEpoch(int(found[1]), int(found[2]))
    if found is None or producer.producer_id >= 2**63 or producer.producer_epoch > MAX_EPOCH:
        raise ValueError(
            f"{token!r} is not a token of prepare(): it is PRODUCER_ID:EPOCH, or '' if the database has none"
        )
    return producer


def refusal(error: Error) -> str | None:
    """The reason for which a broker refuses two-phase commit with this error, and the remedy; None for other errors."""
    return _REFUSALS.get(error)


class TwoPhaseTransactions(TransactionManager):
    """A transaction manager whose transactions are first prepared, and then completed as a database decides."""

    two_phase_commit: ClassVar[bool] = True

    def __init__(self, *args: Any, **settings: Any) -> None:
        super().__init__(*args, **settings)
        self.prepared = NO_PRODUCER
        """The producer id and epoch of the prepared transaction, or of the one prepared last; ``NO_PRODUCER`` if that
        transaction has no contents."""

    def prepare(self) -> Result:
        """Prepare the transaction: resolves when everything is stored. Nothing more is accepted from now on."""
        ruling = self._rule(Call.PREPARE)
        if self._pending is not None and self._pending[0] is Call.PREPARE:
            return self._pending[1]
        result: Result = Deferred()
        if ruling is CallRule.JOIN:
            result.resolve(None)
            return result
        self._become(ClientTxnState.PREPARED)
        self.prepared = NO_PRODUCER
        self._pending = (Call.PREPARE, result)
        self._on_change()
        return result

    def complete(self, token: str) -> Result:
        """Commit the prepared transaction if ``token`` is its token, otherwise abort it. Does nothing if no transaction
        is prepared.

        :raises IllegalStateError: the transactional id has never had a transaction with this token.
        """
        decided = producer_of(token)
        self._rule(Call.COMPLETE)
        nothing_prepared = self.state is ClientTxnState.READY
        last = self.producer if nothing_prepared or self.prepared == NO_PRODUCER else self.prepared
        if decided > last:
            raise IllegalStateError(
                f"token {token} belongs to no transaction of transactional.id {self.transactional_id!r}, whose last "
                f"token is {token_of(last)}: the token is another id's, or the cluster was restored to an earlier "
                "state than the database; nothing was ended; commit or abort it when you know its outcome"
            )
        if nothing_prepared:
            return Deferred.of(None)
        return self.commit() if decided == self.prepared != NO_PRODUCER else self.abort()

    def _all_sent(self) -> None:
        if self._pending is None or self._pending[0] is not Call.PREPARE or self.state is not ClientTxnState.PREPARED:
            return
        if self._queue.idle and not self._accumulator.incomplete:
            self.prepared = self.producer if self._contents.started else NO_PRODUCER
            self._finish_call(None)

    def _found(self, outcome: RequestOutcome) -> ClientTxnState:
        if outcome.ongoing == NO_PRODUCER:
            return ClientTxnState.READY
        self.prepared = outcome.ongoing
        self._contents.started = True
        return ClientTxnState.PREPARED

    def _explain(self, request: CoordinatorRequest, outcome: RequestOutcome) -> KafkaError:
        if request.step is Step.INIT_PRODUCER_ID:
            outcome = outcome._replace(where=refusal(outcome.error) or outcome.where)
        return super()._explain(request, outcome)


__all__ = ["TwoPhaseTransactions", "producer_of", "refusal", "token_of"]
