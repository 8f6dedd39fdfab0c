"""The pages that list, add and remove access control lists (ACLs)."""

from __future__ import annotations

from starlette.responses import Response

from oncelog.apps.console.web import ConsoleRequest, RefusedRequest
from oncelog.client.aio.admin.admin import Admin
from oncelog.errors import ConfigError, Error, KafkaError
from oncelog.protocol.acls import CLUSTER_NAME, Acl, AclFilter, AclResourceType, Operation, PatternType, Permission

LISTED = 1000
RESOURCES = ("TOPIC", "GROUP", "TRANSACTIONAL_ID", "CLUSTER")
PATTERNS = ("LITERAL", "PREFIXED")
OPERATIONS = [operation.name for operation in Operation if operation > Operation.ANY]
EVERYTHING = AclFilter(AclResourceType.ANY, None, PatternType.ANY, None, None, Operation.ANY, Permission.ANY)
FIELDS = ("resource", "name", "pattern", "principal", "host", "operation", "permission")


async def listing(visit: ConsoleRequest) -> Response:
    """The page of ACLs: all of them, or those in which any part contains the searched text."""
    found, problem = await _acls(await visit.admin())
    wanted = visit.query("q").lower()
    words = [_words(acl) for acl in found]
    matching = [row for row in words if wanted in " ".join(row.values()).lower()]
    return visit.page(
        "acls.html", acls=matching[:LISTED], matching=len(matching), total=len(found), problem=problem,
        q=visit.query("q"),
    )  # fmt: skip


async def _acls(admin: Admin) -> tuple[list[Acl], str]:
    """All ACLs and an empty text, or no ACLs and the reason if the cluster has no authorizer."""
    try:
        return await admin.describe_acls(EVERYTHING), ""
    except KafkaError as error:
        if error.error is not Error.SECURITY_DISABLED:
            raise
        return [], "This cluster has no authorizer: everyone may do everything, and there are no ACLs."


def _words(acl: Acl) -> dict[str, str]:
    return {
        "resource": AclResourceType(acl.resource_type).name,
        "name": acl.resource_name,
        "pattern": PatternType(acl.pattern_type).name,
        "principal": acl.principal,
        "host": acl.host,
        "operation": Operation(acl.operation).name,
        "permission": Permission(acl.permission).name,
    }


async def add_form(visit: ConsoleRequest) -> Response:
    """The form for a new ACL."""
    fields = {"resource": "TOPIC", "name": "", "pattern": "LITERAL", "principal": "User:", "host": "*",
              "operation": "READ", "permission": "ALLOW"}  # fmt: skip
    return _form(visit, fields, "")


def _form(visit: ConsoleRequest, fields: dict[str, str], problem: str) -> Response:
    return visit.page(
        "add_acl.html", 400 if problem else 200, fields=fields, problem=problem, resources=RESOURCES,
        patterns=PATTERNS, operations=OPERATIONS,
    )  # fmt: skip


async def add(visit: ConsoleRequest) -> Response:
    """Add an ACL; a refusal is shown next to the entered values."""
    fields = {name: visit.field(name) for name in FIELDS}
    try:
        acl = _acl(fields)
        await (await visit.admin()).create_acls([acl])
    except (ConfigError, KafkaError) as error:
        if isinstance(error, KafkaError) and error.retriable:
            raise
        return _form(visit, fields, str(error))
    return visit.done("The ACL was added.", "/acls", q=acl.principal)


def _acl(fields: dict[str, str]) -> Acl:
    """The ACL that the form describes.

    :raises ConfigError: a part is missing or invalid.
    """
    name = CLUSTER_NAME if fields["resource"] == "CLUSTER" else fields["name"]
    if not name:
        raise ConfigError("name the resource, or * for all")
    kind, separator, who = fields["principal"].partition(":")
    if not separator or not kind or not who:
        raise ConfigError(f"a principal is User:NAME, or User:* for everyone, not {fields['principal']!r}")
    try:
        return Acl(
            AclResourceType[fields["resource"]],
            name,
            PatternType[fields["pattern"]],
            fields["principal"],
            fields["host"] or "*",
            Operation[fields["operation"]],
            Permission[fields["permission"]],
        )
    except KeyError as error:
        raise ConfigError(f"{error} is not valid in an ACL") from error


async def confirm_remove(visit: ConsoleRequest) -> Response:
    """Ask for confirmation, showing the ACL to be removed."""
    return visit.page("remove_acl.html", fields={name: visit.query(name) for name in FIELDS})


async def remove(visit: ConsoleRequest) -> Response:
    """Remove exactly one ACL."""
    acl = _acl({name: visit.field(name) for name in FIELDS})
    if not await (await visit.admin()).delete_acls(AclFilter(*acl)):
        raise RefusedRequest("the ACL no longer exists")
    return visit.done("The ACL was removed.", "/acls")
