"""The registry's refusals, with the status and the error code of Confluent's registry. Called by every module.

The codes are an interface: clients look at them. Source: Confluent's API reference ("Errors").
"""

from __future__ import annotations

from oncelog.errors import OncelogError

LEVELS = ("BACKWARD", "BACKWARD_TRANSITIVE", "FORWARD", "FORWARD_TRANSITIVE", "FULL", "FULL_TRANSITIVE", "NONE")
MODES = ("READWRITE", "READONLY", "READONLY_OVERRIDE", "IMPORT")


class Refused(OncelogError):
    """A request is refused.

    :param status: the HTTP status.
    :param code: the error code in the answer's body.
    """

    def __init__(self, status: int, code: int, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.code = code


class InvalidSchema(OncelogError):
    """A text is not a schema of its type; the message says why."""


def subject_not_found(subject: str) -> Refused:
    return Refused(404, 40401, f"Subject '{subject}' not found.")


def version_not_found(version: int) -> Refused:
    return Refused(404, 40402, f"Version {version} not found.")


def schema_not_found(schema_id: int | str | None = None) -> Refused:
    return Refused(404, 40403, "Schema not found" if schema_id is None else f"Schema {schema_id} not found")


def subject_soft_deleted(subject: str) -> Refused:
    return Refused(404, 40404, f"Subject '{subject}' was soft deleted. Set permanent=true to delete permanently")


def subject_not_soft_deleted(subject: str) -> Refused:
    return Refused(404, 40405, f"Subject '{subject}' was not deleted first before being permanently deleted")


def version_soft_deleted(subject: str, version: int) -> Refused:
    text = f"Subject '{subject}' Version {version} was soft deleted. Set permanent=true to delete permanently"
    return Refused(404, 40406, text)


def version_not_soft_deleted(subject: str, version: int) -> Refused:
    text = f"Subject '{subject}' Version {version} was not deleted first before being permanently deleted"
    return Refused(404, 40407, text)


def no_level_of_its_own(subject: str) -> Refused:
    return Refused(404, 40408, f"Subject '{subject}' does not have subject-level compatibility configured")


def no_mode_of_its_own(subject: str) -> Refused:
    return Refused(404, 40409, f"Subject '{subject}' does not have subject-level mode configured")


def incompatible(subject: str, problems: list[str]) -> Refused:
    text = f'Schema being registered is incompatible with an earlier schema for subject "{subject}", details: '
    return Refused(409, 409, text + f"[{', '.join(problems)}]")


def invalid_schema(why: str) -> Refused:
    return Refused(422, 42201, f"Invalid schema: {why}")


def invalid_version(version: object) -> Refused:
    text = f"The specified version '{version}' is not a valid version id. "
    return Refused(422, 42202, text + 'Allowed values are between [1, 2^31-1] and the string "latest"')


def invalid_level(level: object) -> Refused:
    known = ", ".join(name.lower() for name in LEVELS)
    return Refused(422, 42203, f"Invalid compatibility level {level!r}. Valid values are {known}")


def invalid_mode(mode: object) -> Refused:
    return Refused(422, 42204, f"Invalid mode {mode!r}. Valid values are READWRITE, READONLY and IMPORT.")


def not_permitted(why: str) -> Refused:
    return Refused(422, 42205, why)


def reference_exists(subject: str, version: int) -> Refused:
    key = f"{{magic=1,keytype=SCHEMA,subject={subject},version={version}}}"
    return Refused(422, 42206, f"One or more references exist to the schema {key}.")


def id_does_not_match(schema_id: int) -> Refused:
    return Refused(422, 42207, f"Overwrite new schema with id {schema_id} is not permitted.")


def invalid_subject(subject: str, why: str) -> Refused:
    return Refused(422, 42208, f"The specified subject '{subject}' is not valid: {why}")


def too_large(what: str) -> Refused:
    return Refused(422, 42209, f"Write failed because schema is too large: {what}")


def invalid_rules(why: str) -> Refused:
    return Refused(422, 42210, f"Invalid rule set: {why}")


def store_failed(why: str) -> Refused:
    return Refused(500, 50001, f"Error in the backend Kafka store: {why}")


def store_timed_out(why: str) -> Refused:
    return Refused(500, 50002, f"Write to the Kafka store timed out: {why}")


def forwarding_failed(why: str) -> Refused:
    return Refused(500, 50003, f"Error while forwarding the request to the leader: {why}")


def unknown_leader(why: str) -> Refused:
    return Refused(500, 50004, f"Leader not known: {why}")
