"""Code and secrets that come with a job; logs of many ranks; where a rank is that hangs."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from placetui.runtime.errors import ClusterError
from placetui.runtime.jobs import rank_spec, records
from placetui.runtime.jobs.rank_spec import RankSpec
from tests.runtime.conftest import STORES
from tests.runtime.fake_head import FakeHead

if TYPE_CHECKING:
    from tests.runtime.conftest import TestCluster

Write = Callable[..., Path]

SECRET = "hf_do_not_show_me"

WORKER = """
import os, time
from helper import GREETING

class Worker:
    def __init__(self, rank):
        self.rank = rank
        for number in range(3):
            print(GREETING, "step", number, "of rank", rank, flush=True)

    def read(self):
        return os.environ["HF_TOKEN"], os.environ["LEVEL"], os.path.basename(os.getcwd()) != ""

    def hang(self):
        time.sleep(1000)
"""


def spec(**more: Any) -> RankSpec:
    variables = {"RANK": "0", "HF_TOKEN": SECRET}
    return RankSpec(
        "job/actor:0", 1.0, 1.0, 0, {"env_vars": variables}, "n", {"key": "job/u/actor:0", "environment": variables}
    )


def test_a_secret_is_not_stored_and_comes_back_from_ray() -> None:
    head = FakeHead()
    rank_spec.store(head, spec().without({"HF_TOKEN"}))
    assert SECRET.encode() not in b"".join(value for store in head.values.values() for value in store.values())
    found = rank_spec.find(head, records.Record("job", None, 0.0, uid="u"), "actor", 0)
    assert found is not None
    whole = found.with_variables({"HF_TOKEN": SECRET, "OTHER": "x"})
    assert whole == spec()


@pytest.mark.ray
@pytest.mark.slow
def test_code_and_secrets_come_with_the_job(one_node: TestCluster, write: Write, tmp_path: Path) -> None:
    code = tmp_path / "code"
    code.mkdir()
    (code / "helper.py").write_text("GREETING = 'hello'")
    (code / "mine.py").write_text(WORKER)
    launch = (
        "placetui:\n  launch:\n    actor:\n      worker: 'mine:Worker'\n"
        f"      env: {{HF_TOKEN: {SECRET}}}\n"
        f"      runtime_env: {{working_dir: '{code}', env_vars: {{LEVEL: '3'}}}}\n"
        "    rollout: {worker: 'yours:Worker'}\n"
    )
    shared = tmp_path / "shared"
    shared.mkdir()
    (shared / "yours.py").write_text("class Worker:\n    def read(self):\n        return __file__\n")
    file = write("actor: 0-3; rollout: 0", more=launch)
    done = one_node.up(file, "--job", "coded", "--working-dir", str(shared))
    assert done.code == 0, done.err
    with one_node.head() as head:
        stored = [head.get(name, key) or b"" for name in STORES for key in head.keys(name)]
    assert SECRET.encode() not in b"".join(stored)
    here: dict[str, Any] = {"address": one_node.address, "job": "coded", "component": "actor"}
    with one_node.child() as child:
        events: list[Any] = []
        child.ask("logs", 60, events.append, **here, ranks=[1, 3], grep="step [12]")
        lines = {(one["rank"], line) for one in events if one["step"] == "lines" for line in one["lines"]}
        assert lines == {(rank, f"hello step {number} of rank {rank}") for rank in (1, 3) for number in (1, 2)}
        events.clear()
        child.ask("logs", 60, events.append, **here)
        assert {one["rank"] for one in events if one["step"] == "lines"} == {0, 1, 2, 3}
        # Also after the rank was made anew by somebody else.
        child.ask("restart", 120, events.append, **here, rank=2)
        found = child.ask("call", 60, events.append, **here, method="read", args=[])
        assert {tuple(one) for one in found["results"].values()} == {(SECRET, "3", True)}
        # A component without a directory of its own has that of the command, a copy of which is on the node.
        found = child.ask("call", 60, events.append, **{**here, "component": "rollout"}, method="read", args=[])
        (file_there,) = found["results"].values()
        assert file_there.endswith("/yours.py")
        assert not file_there.startswith(str(tmp_path))
        # While it hangs.
        late = {**here, "method": "hang", "args": [], "patience": 0.5}
        assert child.ask("call", 60, events.append, **late)["waiting"] == [0, 1, 2, 3]
        time.sleep(0.5)
        stacks = child.ask("stack", 60, events.append, **here, rank=3)
        assert stacks["by"] in ("py-spy", "faulthandler")
        assert "hang" in stacks["text"]
        with pytest.raises((ClusterError, Exception), match="has no rank 9"):
            child.ask("stack", 60, events.append, **here, rank=9)
    assert one_node.down("coded").code == 0
    one_node.assert_clean()
