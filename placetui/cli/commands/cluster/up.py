"""`placetui up`: launch a plan on a Ray cluster."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from placetui.cli import exits
from placetui.cli.cluster import (
    Failed,
    add_address,
    add_timeout,
    confirm,
    python_path,
    require_terminal,
    runtime,
    seconds,
)
from placetui.cli.options import add_plan_options, open_plan, plan_options, print_problems
from placetui.cli.output import harmless, raw
from placetui.grid import launch_steps
from placetui.grid.look.text import table
from placetui.observe.operations import FOREVER, JOB_NAME, LOCAL, SPARE, job_name
from placetui.placement.wording import count, listing


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.description = "Reserve the planned devices, start every rank on its device, and wait until all are alive."
    parser.add_argument("file", metavar="FILE", help="a placement file")
    add_plan_options(parser)
    add_address(parser, local=True)
    parser.add_argument("--job", type=_name, metavar="NAME", help="name of the job; default: that of the file")
    parser.add_argument(
        "--dry-run", action="store_true", help="only report whether it fits, and where the ranks would run"
    )
    add_timeout(parser, 300.0, "seconds from reserving to all ranks alive")
    parser.add_argument(
        "--wait-for-nodes",
        type=seconds,
        metavar="S",
        help="request missing nodes from the autoscaler, and wait for them",
    )
    parser.add_argument(
        "--working-dir", metavar="D", help="code for all ranks: a directory, or a URI that Ray accepts as working_dir"
    )
    parser.add_argument("--json", action="store_true", help="print a line of JSON for each step")
    parser.add_argument("--yes", action="store_true", help="do not ask for confirmation")
    parser.add_argument("--accept-moved", action="store_true", help="launch even if ranks get other GPUs than planned")
    parser.add_argument(
        "--on-used-gpus", action="store_true", help="launch even if others use the GPUs without a reservation in Ray"
    )


def run(args: argparse.Namespace) -> int:
    options = plan_options(args)
    document, plan = open_plan(args.file, options)
    workers = {name: str(one["worker"]) for name, one in plan.launch.items() if one.get("worker")}
    # An embedded cluster belongs to nobody else; but code that a file names runs with the rights of the user.
    asks = not (args.yes or args.dry_run or (args.address == LOCAL and not workers))
    if asks:
        require_terminal("start a job")
    # On assumed nodes something may not fit that fits on the real ones: the child checks again.
    errors = [problem for problem in plan.problems if problem.severity == "error"]
    if plan.topology_source != "assumed" and errors:
        if args.json:
            message = f"{count(len(errors), 'error')} in {args.file}"
            failed = {"step": "failed", "during": "check", "wrong_file": True, "message": message, "hint": ""}
            print(json.dumps({**failed, "problems": [problem.format() for problem in errors]}), flush=True)
        print_problems(plan.problems)
        return exits.PROBLEMS
    job = args.job or job_name(args.file)
    narrator = Narrator(args, job, workers)
    narrator.name_workers()
    try:
        with runtime() as child:
            child.ask(
                "up",
                FOREVER if args.address == LOCAL else args.timeout + (args.wait_for_nodes or 0.0) + SPARE,
                narrator.show,
                undo=True,
                text=document.text,
                source=args.file,
                job=job,
                address=args.address,
                nodes=None if options.nodes is None else [asdict(node) for node in options.nodes],
                mode=args.mode,
                overrides=args.overrides,
                patience=args.timeout,
                wait_for_nodes=args.wait_for_nodes,
                working_dir=_absolute(args.working_dir),
                dry_run=args.dry_run,
                accept_moved=args.accept_moved,
                on_used_gpus=args.on_used_gpus,
                ask=["launch"] if asks else [],
                python_path=python_path(),
            )
    except Failed as failure:
        if failure.interrupted and narrator.is_ready:
            return exits.FINE
        if failure.interrupted and narrator.is_declined:
            return exits.PROBLEMS
        narrator.failed(failure)
        raise
    return exits.FINE


def _name(text: str) -> str:
    if not JOB_NAME.fullmatch(text):
        raise argparse.ArgumentTypeError(f"expected letters, digits, dots, dashes and underscores, not `{text}`")
    return text


def _absolute(directory: str | None) -> str | None:
    """A directory as the child finds it; an address (`s3://…`) as it is."""
    return directory if directory is None or "://" in directory else os.path.abspath(directory)


class Narrator:
    """Reports the steps: as JSON lines on stdout, or in words on stderr with the ranks on stdout."""

    def __init__(self, args: argparse.Namespace, job: str, workers: Mapping[str, str] | None = None) -> None:
        self._json: bool = args.json
        self._job = job
        self._workers = workers or {}
        """By component, the class that the file wants to run."""

        self._local = args.address == LOCAL
        self._dry_run: bool = args.dry_run
        self.is_ready = False
        self.is_declined = False
        """Whether the user answered no."""

        self._sizes: Mapping[str, int] = {}
        self._alive: dict[str, int] = {}
        self._on_progress_line = False

    def name_workers(self) -> None:
        """Say which code will run, before it is imported."""
        if not self._json:
            for component, worker in self._workers.items():
                self._tell("code", f"{component} runs {worker}")

    def show(self, event: Mapping[str, Any]) -> bool | None:
        """Report a step; the answer if it is a question."""
        if "question" in event:
            self.is_declined = not self._ask()
            return not self.is_declined
        step = str(event["step"])
        self._sizes = event.get("groups", self._sizes)
        self.is_ready = self.is_ready or step == "ready"
        if self._json:
            print(json.dumps(event), flush=True)
        elif step == "launch":
            self._count(event)
        elif step != "failed":
            self._tell(step, _WORDS[step](event))
            self._table(step, event)
        if step == "ready" and self._local:
            print("Ctrl-C stops the embedded cluster", file=sys.stderr, flush=True)
        return None

    def failed(self, failure: Failed) -> None:
        """Print what only programs want to know, and set the exit code of a wrong file."""
        self._end_progress_line()
        if self._json and not failure.explained:
            print(json.dumps({"step": "failed", "message": failure.message, "hint": failure.hint}), flush=True)
        if failure.details.get("wrong_file"):
            failure.code = exits.PROBLEMS

    def _ask(self) -> bool:
        ranks = sum(self._sizes.values())
        parts = listing(f"{name} {size}" for name, size in self._sizes.items())
        code = f", running {listing(dict.fromkeys(self._workers.values()))}," if self._workers else ""
        return confirm(f"start {count(ranks, 'rank')} ({parts}){code} as job {self._job}?")

    def _table(self, step: str, event: Mapping[str, Any]) -> None:
        rows: list[tuple[str, ...]]
        if step == "check" and self._dry_run:
            rows = [(_rank(one), _node(one), f"{_gpus(one['gpu_ids'])} (expected)") for one in event["expected"]]
        elif step == "ready":
            rows = [
                (_rank(one), _node(one), _gpus(one["gpu_ids"]), _share(one["share"]), f"pid {one['pid']}")
                for one in event["ranks"]
            ]
        else:
            return
        print("\n".join(table(rows)), flush=True)

    def _tell(self, step: str, text: str) -> None:
        self._end_progress_line()
        print(f"{step:<9}{text}", file=sys.stderr, flush=True)

    def _count(self, event: Mapping[str, Any]) -> None:
        if event.get("state") == "alive":
            self._alive[event["component"]] = self._alive.get(event["component"], 0) + 1
        if sys.stderr.isatty():
            parts = ", ".join(f"{name} {self._alive.get(name, 0)}/{size}" for name, size in self._sizes.items())
            raw(sys.stderr).write("\r" + harmless(f"{'launch':<9}{parts}"))
            sys.stderr.flush()
            self._on_progress_line = True

    def _end_progress_line(self) -> None:
        if self._on_progress_line:
            print(file=sys.stderr)
        self._on_progress_line = False


def _rank(one: Mapping[str, Any]) -> str:
    return f"{one['component']}:{one['rank']}"


def _node(one: Mapping[str, Any]) -> str:
    """With its rank: on an embedded cluster all nodes have one address."""
    return f"node {one['node_rank']} {one['node']}"


def _gpus(ids: Sequence[str] | None) -> str:
    if ids is None:
        return "unpredictable"
    return f"GPU {','.join(ids)}" if ids else "no GPU"


def _share(share: float | None) -> str:
    return "" if share is None else f"{share:.4g}"


_WORDS: dict[str, Callable[[Mapping[str, Any]], str]] = {
    "connect": lambda event: launch_steps.connected(event) + (f" ({event['notice']})" if "notice" in event else ""),
    "match": lambda event: "\n".join(
        [launch_steps.matched(event, 8), *(f"warning: {text}" for text in event.get("warnings", ()))]
    ),
    "check": lambda event: f"{launch_steps.needed(event)} needed: fits",
    "reserve": launch_steps.reserved,
    "probe": lambda event: (
        f"{count(len(event['devices']), 'device')} in {event['seconds']:.2f} s, {launch_steps.moved(event)}"
    ),
    "ready": lambda event: f"job {event['job']}: {count(len(event['ranks']), 'rank')} alive",
}
