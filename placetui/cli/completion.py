"""`placetui completion`: a script with which a shell completes commands and options."""

from __future__ import annotations

from collections.abc import Sequence

from placetui.cli import exits
from placetui.cli.options import command_parser

SHELLS = ("bash", "zsh", "fish")


def run(arguments: Sequence[str]) -> int:
    """Run the command."""
    parser = command_parser("completion", "Print a script with which your shell completes commands and options.")
    parser.add_argument(
        "shell", metavar="|".join(SHELLS), choices=SHELLS, help="for example: source <(placetui completion bash)"
    )
    args = parser.parse_args(arguments)
    from placetui.cli import shells
    from placetui.cli.grammar import grammar

    print(getattr(shells, args.shell)(grammar()), end="")
    return exits.FINE
