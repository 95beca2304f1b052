"""A user's own command, submitted through Ray Jobs under the name of a job."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping
from contextlib import closing
from typing import Any

from placetui.bridge.work import Work
from placetui.masking import mask_secrets, mask_words
from placetui.observe.operations import split_address
from placetui.runtime.errors import ClusterError, NotPossible, NotReady, explain
from placetui.runtime.gcs.address import open_head, resolve_address
from placetui.runtime.gcs.client import Head
from placetui.runtime.gcs.driver import is_here
from placetui.runtime.gcs.importing import import_ray
from placetui.runtime.jobs import records
from placetui.runtime.jobs.foreign import SUBMITTED, find_any_job, find_foreign_jobs
from placetui.runtime.policy import Deadline

_DASHBOARD = b"dashboard"
_LOCAL_HOSTS = ("127.0.0.1", "0.0.0.0", "localhost")
_NO_AGENT = "No available agent"
"""What Ray Jobs answer until the agent of a node is up."""

_OVER = ("SUCCEEDED", "FAILED", "STOPPED")


def submit(body: Mapping[str, Any], work: Work) -> Mapping[str, Any]:
    """Submit a command, and tell how its ranks come up until all are alive, or it has ended."""
    address = resolve_address(str(body["address"]))
    name = records.check_name(str(body["job"]))
    with closing(open_head(address)) as head:
        client = _client(head)
        _check_free(head, name)
        entrypoint = shlex.join(str(word) for word in body["command"])
        runtime_env = dict(body.get("runtime_env") or {})
        if body.get("working_dir"):
            runtime_env["working_dir"] = str(body["working_dir"])
        facts = {"file": str(body["source"]), "framework": str(body.get("framework") or "")}
        deadline = Deadline(work, float(body.get("patience", 300.0)))

        def send() -> bool | None:
            try:
                client.submit_job(entrypoint=entrypoint, submission_id=name, runtime_env=runtime_env)
            except Exception as problem:
                if _NO_AGENT in str(problem):  # the head has just started
                    return None
                raise ClusterError(f"Ray Jobs refuse the command: {explain(problem)}") from problem
            return True

        head.put(SUBMITTED, name.encode(), json.dumps(facts).encode(), overwrite=True)
        try:
            deadline.until(send, lambda: "no agent of the cluster takes jobs yet")
        except BaseException:
            head.delete(SUBMITTED, name.encode())
            raise
        shown = shlex.join(mask_words([str(word) for word in body["command"]]))
        work.report(step="submit", job=name, entrypoint=shown, address=address)
        return {"job": name, **_follow(head, client, name, deadline, work)}


def dashboard_url(head: Head) -> str:
    """Address of the cluster's dashboard server, which takes submissions; `NotReady` if there is none."""
    found = (head.get(_DASHBOARD, _DASHBOARD) or b"").decode("utf-8", "replace")
    if not found:
        raise NotReady(
            f"the cluster at {head.address} has no dashboard server, which Ray Jobs need",
            hint="install ray[default] on its head node and start it with --include-dashboard=true",
        )
    host, _, port = found.rpartition(":")
    if host in _LOCAL_HOSTS and not is_here(split_address(head.address)[0]):
        # It listens where the head is.
        host = split_address(head.address)[0]
    return f"http://{f'[{host}]' if ':' in host else host}:{port}"


def _client(head: Head) -> Any:
    url = dashboard_url(head)
    try:
        return import_ray("ray.job_submission").JobSubmissionClient(url)
    except ImportError as problem:
        raise NotReady(f"Ray Jobs cannot be used here: {problem}", hint="pip install 'ray[default]'") from problem
    except Exception as problem:
        raise NotReady(
            f"the dashboard server of the cluster at {url} does not answer: {explain(problem)}",
            hint="start it with --dashboard-host=0.0.0.0 where it is reached from other machines",
        ) from problem


def _check_free(head: Head, name: str) -> None:
    try:
        find_any_job(head, name)
    except NotPossible:
        if not any(one.submission == name for one in head.jobs()):
            return
    raise NotPossible(f"there is a job `{name}` already", hint="choose another name with --name")


def _follow(head: Head, client: Any, name: str, deadline: Deadline, work: Work) -> dict[str, Any]:
    """Report how it goes until there is nothing more to wait for, or the time is over."""
    told: dict[str, Any] = {}

    def look() -> dict[str, Any] | None:
        details = client.get_job_info(name)
        status = getattr(details.status, "value", str(details.status))
        found = find_foreign_jobs(head, job=name)
        groups = dict(found[-1].to_dict()["groups"]) if found else {}
        now = {"status": status.lower(), "groups": groups}
        if now != told:
            told.update(now)
            work.report(step="ranks", job=name, **now)
        if status in _OVER:
            return {**now, "message": mask_secrets(details.message or "")}
        complete = groups and all(one["alive"] >= one["world_size"] for one in groups.values())
        ready = complete and found[-1].state == "running"
        return {**now, "message": ""} if ready or not deadline.left else None

    return deadline.until(look, lambda: f"{name} is starting")
