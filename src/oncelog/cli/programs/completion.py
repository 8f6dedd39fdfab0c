"""``oncelog completion SHELL``: prints the script with which a shell completes commands and names; ``completers`` finds
the names.
"""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

from oncelog.errors import OncelogError

SHELLS = ("bash", "zsh", "fish")
BEFORE = {"zsh": "(( $+functions[compdef] )) || { autoload -Uz compinit && compinit }\n"}
"""The lines that a shell's script begins with: zsh's own completion is not started by an empty .zshrc."""


@click.command("completion")
@click.argument("shell", type=click.Choice(SHELLS))
def command(shell: str) -> None:
    """Print what a shell needs to complete oncelog's commands, options, topics, groups and transactional ids.

    \b
    Examples:
      echo 'eval "$(oncelog completion bash)"' >> ~/.bashrc
      echo 'eval "$(oncelog completion zsh)"' >> ~/.zshrc
      mkdir -p ~/.config/fish/completions
      oncelog completion fish > ~/.config/fish/completions/oncelog.fish
    """
    root = click.get_current_context().find_root().command
    kind = get_completion_class(shell)
    if kind is None:
        raise OncelogError(f"this version of click has no completion for {shell}")
    click.echo(BEFORE.get(shell, "") + kind(root, {}, "oncelog", "_ONCELOG_COMPLETE").source())
