"""`completion`: the name of a shell in, the script that teaches it our commands out."""

from __future__ import annotations

import click

from mdmem.cli import say


@click.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion_command(shell: str) -> None:
    """Print a script that completes commands and options in your shell.

    \b
    Examples:
      mdmem completion bash >> ~/.bashrc
      mdmem completion zsh >> ~/.zshrc
      mdmem completion fish > ~/.config/fish/completions/mdmem.fish
    """
    from click.shell_completion import get_completion_class

    from mdmem.cli.root import root

    kind = get_completion_class(shell)
    if kind is None:
        raise click.UsageError(f"{shell} is not known here")
    # Only the template: click's own `source` first runs the shell to ask for its version.
    script = kind(root, {}, "mdmem", "_MDMEM_COMPLETE")
    say.out(script.source_template % script.source_vars())
