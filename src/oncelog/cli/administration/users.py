"""``oncelog users``: shows, sets and removes the SCRAM credentials of users."""

from __future__ import annotations

import sys
from typing import IO

import click

from oncelog.cli.shared.options import ConnectionOptions, cluster_options
from oncelog.cli.shared.output import show_json, show_rows
from oncelog.cli.shared.parameters import CommandGroup
from oncelog.protocol.scram import MAX_ITERATIONS, MIN_ITERATIONS

MECHANISMS = {"SCRAM-SHA-256": 1, "SCRAM-SHA-512": 2}
_MECHANISM = click.option(
    "--mechanism", type=click.Choice(list(MECHANISMS)), default="SCRAM-SHA-512", show_default=True
)


@click.group("users", cls=CommandGroup)
def command() -> None:
    """Users that log in with SCRAM: list, set a password, remove.

    \b
    Example:
      oncelog users set alice --mechanism SCRAM-SHA-512
    """


@command.command("list")
@click.argument("names", nargs=-1)
@cluster_options
def list_users(cluster: ConnectionOptions, names: tuple[str, ...]) -> None:
    """Users with their mechanisms; passwords are not kept and cannot be shown.

    \b
    Example:
      oncelog users list
    """
    known = {number: name for name, number in MECHANISMS.items()}
    with cluster.admin() as admin:
        found = admin.describe_users(names)
    rows = [
        {"user": one.user, "mechanism": known.get(one.mechanism, str(one.mechanism)), "iterations": one.iterations}
        for one in found
    ]
    show_rows(cluster.as_json, rows, ("user", "mechanism", "iterations"), "there are no users")


@command.command("set")
@click.argument("name")
@_MECHANISM
@click.option("--iterations", type=click.IntRange(MIN_ITERATIONS, MAX_ITERATIONS), default=MIN_ITERATIONS)
@click.option(
    "--password-file", type=click.File("r"), help="Read the password from the only line of a file, - for stdin."
)
@cluster_options
def set_password(
    cluster: ConnectionOptions, name: str, mechanism: str, iterations: int, password_file: IO[str] | None
) -> None:
    """Create a user or change a password. The command asks for the password, so it never appears in a process list.

    \b
    Example:
      oncelog users set alice --mechanism SCRAM-SHA-256
    """
    if password_file is None:
        if not sys.stdin.isatty():
            raise click.UsageError(
                "there is no terminal to ask for the password on: give it with --password-file, - for stdin"
            )
        password = click.prompt("Password", hide_input=True, confirmation_prompt=True)
    else:
        password = password_file.readline().rstrip("\r\n")
    if not password:
        raise click.UsageError("the password is empty")
    with cluster.admin() as admin:
        admin.set_password(name, MECHANISMS[mechanism], password, iterations)
    if cluster.as_json:
        show_json({"user": name, "mechanism": mechanism, "iterations": iterations})
    else:
        click.echo(f"set the {mechanism} password of user {name}")


@command.command("remove")
@click.argument("name")
@_MECHANISM
@cluster_options
def remove(cluster: ConnectionOptions, name: str, mechanism: str) -> None:
    """Remove a user's credential.

    \b
    Example:
      oncelog users remove alice --mechanism SCRAM-SHA-256
    """
    with cluster.admin() as admin:
        admin.delete_credential(name, MECHANISMS[mechanism])
    if cluster.as_json:
        show_json({"user": name, "mechanism": mechanism})
    else:
        click.echo(f"removed the {mechanism} password of user {name}")
