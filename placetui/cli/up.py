"""`placetui up`: launch a plan on a Ray cluster."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from placetui.cli import exits
from placetui.cli.cluster import (
    Failed,
    add_address,
    confirm,
    has_terminal,
    print_failure,
    python_path,
    runtime,
    seconds,
)
from placetui.cli.options import DocumentError, add_plan_options, command_parser, open_plan, print_problems, wishes_of
from placetui.cli.output import harmless, raw
from placetui.observe import step_words
from placetui.observe.operations import FOREVER, JOB_NAME, LOCAL, SPARE, job_name
from placetui.placement.problems import count, listing

DEFAULT_TIMEOUT = 300.0


def run(arguments: Sequence[str]) -> int:
    """Run the command."""
    args = _parse(arguments)
    try:
        wishes = wishes_of(args)
        document, plan = open_plan(args.file, wishes)
    except DocumentError as error:
        print_problems(error.problems)
        return exits.USAGE
    workers = {name: str(one["worker"]) for name, one in plan.launch.items() if one.get("worker")}
    # An embedded cluster is nobody else's; but code that a file names runs with the rights of the one who says `up`.
    asks = not (args.yes or args.dry_run or (args.address == LOCAL and not workers))
    if asks and not has_terminal():
        print("placetui up: a job is to be started and nobody can be asked", file=sys.stderr)
        print("  hint: say --yes", file=sys.stderr)
        return exits.USAGE
    # On assumed nodes something may not fit that fits on the real ones: the child looks again.
    errors = [problem for problem in plan.problems if problem.severity == "error"]
    if plan.topology_source != "assumed" and errors:
        if args.json:
            message = f"{count(len(errors), 'error')} in {args.file}"
            told = [problem.format() for problem in errors]
            failed = {"step": "failed", "during": "check", "wrong_file": True, "message": message, "hint": ""}
            print(json.dumps({**failed, "problems": told}), flush=True)
        print_problems(plan.problems)
        return exits.PROBLEMS
    job = args.job or job_name(args.file)
    screen = _Screen(args, job, workers)
    screen.name_workers()
    try:
        with runtime() as child:
            child.ask(
                "up",
                FOREVER if args.address == LOCAL else args.timeout + SPARE,
                screen.show,
                undo=True,
                text=document.text,
                source=args.file,
                job=job,
                address=args.address,
                nodes=None if wishes.nodes is None else [asdict(node) for node in wishes.nodes],
                mode=args.mode,
                overrides=args.overrides,
                patience=args.timeout,
                dry_run=args.dry_run,
                accept_moved=args.accept_moved,
                ask=["launch"] if asks else [],
                python_path=python_path(),
            )
    except Failed as problem:
        return screen.give_up(problem)
    return exits.FINE


def _parse(arguments: Sequence[str]) -> argparse.Namespace:
    parser = command_parser(
        "up", "Reserve the planned devices, start every rank on its own, and wait until all are alive."
    )
    parser.add_argument("file", metavar="FILE", help="a placement file")
    add_plan_options(parser)
    add_address(parser, local=True)
    parser.add_argument("--job", type=_name, metavar="NAME", help="name of the job; by default that of the file")
    parser.add_argument("--dry-run", action="store_true", help="only say whether it fits, and what would be where")
    parser.add_argument(
        "--timeout",
        type=seconds,
        default=DEFAULT_TIMEOUT,
        metavar="S",
        help="seconds from reserving to all ranks alive; default 300",
    )
    parser.add_argument("--json", action="store_true", help="one JSON object a line for each step")
    parser.add_argument("--yes", action="store_true", help="do not ask before starting")
    parser.add_argument(
        "--accept-moved", action="store_true", help="start also where the planned GPUs are taken and others are free"
    )
    return parser.parse_args(arguments)


def _name(text: str) -> str:
    if not JOB_NAME.fullmatch(text):
        raise argparse.ArgumentTypeError(f"letters, digits, dots, dashes and underscores, not `{text}`")
    return text


class _Screen:
    """What is told on the way: JSON lines on stdout, or words on stderr and the ranks on stdout."""

    def __init__(self, args: argparse.Namespace, job: str, workers: Mapping[str, str] | None = None) -> None:
        self._json: bool = args.json
        self._job = job
        self._workers = workers or {}
        """By component, the class that the file wants to run."""

        self._local = args.address == LOCAL
        self._dry_run: bool = args.dry_run
        self._ready = False
        self._sizes: Mapping[str, int] = {}
        self._alive: dict[str, int] = {}
        self._on_progress_line = False

    def name_workers(self) -> None:
        """Say which code will run, before anything of it is imported."""
        if not self._json:
            for component, worker in self._workers.items():
                self._tell("code", f"{component} runs {worker}")

    def show(self, event: Mapping[str, Any]) -> bool | None:
        if "question" in event:
            return self._ask()
        step = str(event["step"])
        self._sizes = event.get("groups", self._sizes)
        self._ready = self._ready or step == "ready"
        if self._json:
            print(json.dumps(event), flush=True)
        elif step == "launch":
            self._count(event)
        elif step != "failed":
            self._tell(step, _WORDS[step](event))
            self._tables(step, event)
        if step == "ready" and self._local:
            print("the embedded cluster lives until Ctrl-C", file=sys.stderr, flush=True)
        return None

    def give_up(self, problem: Failed) -> int:
        """Say it, and give the exit code."""
        if self._ready and problem.interrupted:
            return exits.FINE
        self._end_progress_line()
        if self._json and not problem.explained:
            print(json.dumps({"step": "failed", "message": problem.message, "hint": problem.hint}), flush=True)
        if problem.interrupted:
            return exits.INTERRUPTED
        print_failure("up", problem)
        return exits.PROBLEMS if problem.details.get("wrong_file") else exits.CLUSTER

    def _ask(self) -> bool:
        ranks = sum(self._sizes.values())
        parts = listing(f"{name} {size}" for name, size in self._sizes.items())
        code = f", running {listing(dict.fromkeys(self._workers.values()))}," if self._workers else ""
        return confirm(f"start {count(ranks, 'rank')} ({parts}){code} as job {self._job}?")

    def _tables(self, step: str, event: Mapping[str, Any]) -> None:
        if step == "check" and self._dry_run:
            for one in event["expected"]:
                ids = "not foreseeable" if one["gpu_ids"] is None else _gpus(one["gpu_ids"])
                print(f"{_rank(one):<16}{_node(one):<24}{ids} (expected)", flush=True)
        elif step == "ready":
            for one in event["ranks"]:
                share = "" if one["share"] is None else f"{one['share']:.4g}"
                print(f"{_rank(one):<16}{_node(one):<24}{_gpus(one['gpu_ids']):<16}{share:<8}pid {one['pid']}")
            sys.stdout.flush()

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


def _gpus(ids: Sequence[str]) -> str:
    return f"GPU {','.join(ids)}" if ids else "no GPU"


_WORDS: dict[str, Callable[[Mapping[str, Any]], str]] = {
    "connect": lambda event: step_words.connected(event) + (f" ({event['notice']})" if "notice" in event else ""),
    "match": lambda event: "\n".join(
        [step_words.matched(event, 8), *(f"warning: {text}" for text in event["warnings"])]
    ),
    "check": lambda event: f"{step_words.needed(event)} needed: fits",
    "reserve": step_words.reserved,
    "probe": lambda event: (
        f"{count(len(event['devices']), 'device')} in {event['seconds']:.2f} s, {step_words.moved(event)}"
    ),
    "ready": lambda event: f"job {event['job']}: {count(len(event['ranks']), 'rank')} alive",
}
