"""`placetui ps`: list the jobs of a Ray cluster."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Mapping
from typing import Any

from placetui.cli.lists import add_list_options, run_list
from placetui.grid.look.text import table
from placetui.placement.wording import age

MOST_TROUBLES = 8
"""Ranks of a job that are listed when something is wrong with them."""

MOST_CHARACTERS = 100
"""Of a command line."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "List the jobs of a cluster: those that placetui launched, and those of frameworks that it recognises. Ended "
        "jobs are listed for an hour. Nodes that do not respond are listed with their jobs. Nothing is started."
    )
    add_list_options(parser, 1)


def run(args: argparse.Namespace) -> int:
    return run_list(args, "ps", ("jobs",), show)


def show(found: Mapping[str, Any]) -> None:
    """Print the jobs."""
    jobs = found["jobs"]
    if not jobs:
        print(f"no jobs on {found['address']}", file=sys.stderr)
        return
    rows = [("JOB", "FRAMEWORK", "STATE", "RANKS", "AGE", "OWNER", "FILE"), *map(_row, jobs)]
    if not any(map(_is_foreign, jobs)):
        rows = [(row[0], *row[2:]) for row in rows]
    header, *lines = table(rows)
    print(header)
    for job, line in zip(jobs, lines, strict=True):
        print(line)
        troubles = found.get("troubles", {}).get(job["name"], [])
        for trouble in troubles[:MOST_TROUBLES]:
            print(f"  {trouble}")
        if len(troubles) > MOST_TROUBLES:
            print(f"  … and {len(troubles) - MOST_TROUBLES} more")


def _is_foreign(job: Mapping[str, Any]) -> bool:
    return bool(job.get("framework", "placetui") != "placetui")


def _row(job: Mapping[str, Any]) -> tuple[str, ...]:
    groups = ", ".join(f"{name} {one['alive']}/{one['world_size']}" for name, one in job["groups"].items())
    since = age(job["created"], time.time())
    source = job["file"] or job.get("entrypoint") or "?"
    return (
        job["name"],
        job["framework"] if _is_foreign(job) else "-",
        job["state"],
        groups or "?",
        since or "?",
        job.get("owner") or "?",
        source if len(source) <= MOST_CHARACTERS else f"{source[: MOST_CHARACTERS - 1]}…",
    )
