"""`placetui submit`: check that a file's job fits, then run the user's own command through Ray Jobs."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Mapping
from typing import Any

from placetui.cli import exits
from placetui.cli.cluster import Failed, add_address, add_timeout, runtime
from placetui.cli.options import add_plan_options, open_plan, plan_options
from placetui.grid.preflight_lines import preflight_lines
from placetui.observe.operations import SPARE, job_name

TIMEOUT = 60.0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Check that Ray can place what FILE asks for (as placetui preflight), submit COMMAND through Ray Jobs, and "
        "report its ranks as they start. The name of the job is its submission id, for ps, logs and down."
    )
    parser.usage = "placetui submit [OPTIONS] FILE -- COMMAND..."
    parser.add_argument("file", metavar="FILE", help="the placement file of what COMMAND starts")
    parser.add_argument("command", nargs="+", metavar="COMMAND", help="what to run on the cluster, after --")
    add_plan_options(parser)
    add_address(parser)
    parser.add_argument("--name", metavar="N", help="name and submission id; default: that of the file")
    parser.add_argument("--working-dir", metavar="D", help="directory that COMMAND runs in; it is sent to the cluster")
    parser.add_argument("--runtime-env", type=_mapping, metavar="JSON", default={}, help="Ray's runtime environment")
    add_timeout(parser, 300.0, "seconds to wait for the ranks; then the job keeps running")
    parser.add_argument("--json", action="store_true", help="print a line of JSON for each step")


def run(args: argparse.Namespace) -> int:
    document, plan = open_plan(args.file, plan_options(args))
    name = args.name or job_name(args.file)
    narrator = _Narrator(args.json, name)
    body = {"text": document.text, "source": args.file, "mode": args.mode, "overrides": args.overrides}
    with runtime() as child:
        found = child.ask("preflight", TIMEOUT, address=args.address, **body)
        narrator.preflight(found, args.file)
        if not found["fits"]:
            return exits.PROBLEMS
        try:
            done = child.ask(
                "submit",
                args.timeout + SPARE,
                narrator.show,
                address=args.address,
                job=name,
                source=os.path.abspath(args.file),
                framework=plan.framework,
                command=args.command,
                working_dir=os.path.abspath(args.working_dir) if args.working_dir else None,
                runtime_env=args.runtime_env,
                patience=args.timeout,
            )
        except Failed as failure:
            narrator.failed(failure)
            raise
    narrator.finished(done)
    return exits.CLUSTER if done["status"] == "failed" else exits.FINE


def _mapping(text: str) -> dict[str, Any]:
    try:
        found = json.loads(text)
    except ValueError:
        found = None
    if not isinstance(found, dict):
        raise argparse.ArgumentTypeError('expected a JSON object, as in \'{"env_vars": {"A": "1"}}\'')
    return found


class _Narrator:
    """Reports the steps: as JSON lines on stdout, or in words on stderr."""

    def __init__(self, as_json: bool, job: str) -> None:
        self._json = as_json
        self._job = job

    def preflight(self, found: Mapping[str, Any], file: str) -> None:
        if self._json:
            self._print(step="preflight", **{name: value for name, value in found.items() if name != "address"})
        elif not found["fits"]:
            print("\n".join(preflight_lines(found, file)))

    def show(self, step: Mapping[str, Any], *_: Any) -> None:
        if self._json:
            self._print(**step)
        elif step.get("step") == "submit":
            print(f"submitted as {self._job}: {step['entrypoint']}", file=sys.stderr)
        elif step.get("step") == "ranks":
            print(f"{step['status']}: {_groups(step['groups'])}", file=sys.stderr)

    def failed(self, failure: Failed) -> None:
        if self._json:
            self._print(step="failed", message=failure.message, hint=failure.hint)

    def finished(self, done: Mapping[str, Any]) -> None:
        if self._json:
            self._print(step="ready" if done["status"] == "running" else "ended", **done)
        elif done["status"] == "failed":
            print(f"{self._job} failed: {done['message']}", file=sys.stderr)
            print(f"  hint: placetui logs {self._job}", file=sys.stderr)
        else:
            print(self._job)

    def _print(self, **fields: Any) -> None:
        print(json.dumps(fields), flush=True)


def _groups(groups: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} {one['alive']}/{one['world_size']}" for name, one in groups.items()) or "no ranks yet"
