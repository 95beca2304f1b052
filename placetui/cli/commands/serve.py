"""`placetui serve [FILE]`: the dashboard in a browser."""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
from collections.abc import Sequence
from contextlib import redirect_stdout

from placetui.cli import exits
from placetui.cli.commands import dashboard
from placetui.cli.output import complain

PORT = 8000


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.description = "Serve the dashboard to browsers. Each tab runs its own dashboard."
    dashboard.add_arguments(parser)
    _add_own_options(parser)


def run(args: argparse.Namespace) -> int:
    dashboard.check(args)
    try:
        from placetui.web.server import CannotServe, is_loopback, serve
    except ModuleNotFoundError as missing:
        name = (missing.name or "").partition(".")[0]
        raise exits.Abort(exits.USAGE, f"{name} is not installed here", "pip install 'placetui[web]'") from None
    if not is_loopback(args.host):
        hint = "leave --host out and use `ssh -L`, as docs/browser.md shows"
        complain("placetui serve", f"{args.host} can be reached by others, and nothing is encrypted", hint)

    stdout = sys.stdout

    def listening(url: str) -> None:
        may = "edit and launch" if args.write else "look, but not change anything"
        print(f"placetui serve: everyone who has this address can {may}; Ctrl-C stops the server", file=sys.stderr)
        print(url, flush=True, file=stdout)

    title = f"placetui {os.path.basename(args.file or '')}".rstrip()
    try:
        with redirect_stdout(sys.stderr):  # textual-serve prints there what a dashboard says as it dies
            asyncio.run(serve(_without_own_options(args.typed), title, args.host, args.port, listening))
    except CannotServe as problem:
        hint = "choose others with --host and --port; `--port 0` takes a free one"
        raise exits.Abort(exits.USAGE, str(problem), hint) from None
    return exits.FINE


def _add_own_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--host", default="127.0.0.1", help="address to listen on; default: this machine only")
    parser.add_argument("--port", type=int, default=PORT, help=f"port to listen on; 0 takes a free one; default {PORT}")


def _without_own_options(arguments: Sequence[str]) -> list[str]:
    """What the dashboard of each tab is started with."""
    own = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    _add_own_options(own)
    return own.parse_known_args(arguments)[1]
