"""`placetui serve [FILE]`: the dashboard in a browser."""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
from collections.abc import Sequence
from contextlib import redirect_stdout

from placetui.cli import app, exits
from placetui.cli.options import command_parser

PORT = 8000


def run(arguments: Sequence[str]) -> int:
    """Run `placetui serve`."""
    parser = command_parser("serve", "Open the dashboard in a browser; each tab has one of its own.")
    app.add_options(parser)
    _add_own_options(parser)
    args = parser.parse_args(arguments)
    wrong = app.check(args)
    if wrong is not None:
        return wrong
    try:
        from placetui.web.server import CannotServe, is_loopback, serve
    except ModuleNotFoundError as missing:
        print(f"placetui serve: {(missing.name or '').partition('.')[0]} is not installed here", file=sys.stderr)
        print("  hint: pip install 'placetui[web]'", file=sys.stderr)
        return exits.USAGE
    if not is_loopback(args.host):
        print(f"placetui serve: {args.host} can be reached by others, and nothing is encrypted", file=sys.stderr)
        print("  hint: leave --host out and use `ssh -L`, as docs/browser.md shows", file=sys.stderr)

    stdout = sys.stdout

    def listening(url: str) -> None:
        who = "may edit and launch" if args.write else "may look, not change anything"
        print(f"placetui serve: whoever has this address {who}; Ctrl-C ends it", file=sys.stderr)
        print(url, flush=True, file=stdout)

    title = f"placetui {os.path.basename(args.file or '')}".rstrip()
    try:
        with redirect_stdout(sys.stderr):  # textual-serve prints there what a dashboard says as it dies
            asyncio.run(serve(_without_own_options(arguments), title, args.host, args.port, listening))
    except CannotServe as problem:
        print(f"placetui serve: {problem}", file=sys.stderr)
        print("  hint: choose others with --host and --port; `--port 0` takes a free one", file=sys.stderr)
        return exits.USAGE
    return exits.FINE


def _add_own_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--host", default="127.0.0.1", help="to listen on; by default only this machine can reach it")
    parser.add_argument("--port", type=int, default=PORT, help=f"to listen on; 0 for a free one (default: {PORT})")


def _without_own_options(arguments: Sequence[str]) -> list[str]:
    """What the dashboard of each tab is started with."""
    own = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    _add_own_options(own)
    return own.parse_known_args(arguments)[1]
