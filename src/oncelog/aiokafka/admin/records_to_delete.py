"""``aiokafka.admin.records_to_delete``."""


class RecordsToDelete:
    """The offset before which records are deleted; -1 for all."""

    def __init__(self, before_offset: int) -> None:
        self.before_offset = before_offset


__all__ = ["RecordsToDelete"]
