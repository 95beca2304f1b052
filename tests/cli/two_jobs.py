"""A child process with two jobs that can be stopped: `mine`, and `hers` of another user."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from placetui.bridge.child import run
from placetui.bridge.work import Work

OWNERS = {"mine": None, "hers": "eve@gpu-1"}


def down(body: Mapping[str, Any], work: Work) -> Mapping[str, Any]:
    groups = {"actor": {"world_size": 2, "alive": 2}}
    job = {"name": body["job"], "state": "running", "owner": OWNERS[body["job"]], "groups": groups}
    return {"job": job} if body.get("look") else {"actors": 2, "groups": 1}


def stack(body: Mapping[str, Any], work: Work) -> Mapping[str, Any]:
    assert (body["component"], body["rank"]) == ("actor", 1)
    return {"text": "Thread 1\n  in wait\n", "by": "py-spy"}


if __name__ == "__main__":
    run({}, jobs={"down": down, "stack": stack})
