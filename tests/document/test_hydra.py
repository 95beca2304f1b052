"""Files that Hydra's `defaults:` name, composed by hydra-core, and without it."""

from __future__ import annotations

import sys
from pathlib import Path
from subprocess import list2cmdline

import pytest

from placetui.document import Document, plan_document
from placetui.document.running import read_configuration
from placetui.frameworks.cluster_facts import RayJobSeen
from placetui.frameworks.registry import framework

pytest.importorskip("hydra")

RLINF = """\
defaults:
  - model/large@actor.model
  - layout: two_nodes
  - _self_
  - override hydra/job_logging: stdout
hydra:
  searchpath:
    - file://${oc.env:NOWHERE}/config
cluster:
  component_placement:
    actor,rollout,reward: all
rollout: {tensor_parallel_size: "${actor.model.tensor_model_parallel_size}"}
placetui: {mode: model_parallel}
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, text in {
        "model/large.yaml": "tensor_model_parallel_size: 4\n",
        "layout/two_nodes.yaml": "# @package _global_\ncluster: {num_nodes: 2}\n",
        "layout/broken.yaml": "# @package _global_\ncluster:\n  num_nodes: two\n",
        "main.yaml": RLINF,
        "_generated/actor.yaml": "use_kl_loss: true\n",
    }.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


@pytest.fixture(params=["hydra-core", "alone"])
def composer(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """With hydra-core, and where it cannot be imported."""
    if request.param == "alone":
        monkeypatch.setitem(sys.modules, "hydra", None)
    return str(request.param)


@pytest.mark.usefixtures("composer")
def test_values_of_other_files_count(folder: Path) -> None:
    plan = plan_document(Document.from_file(folder / "main.yaml"))
    assert plan.problems == []
    assert len(plan.nodes) == 2
    assert [len(one.devices) for one in plan.components["rollout"].placements] == [4] * 4


@pytest.mark.usefixtures("composer")
def test_a_problem_is_shown_in_the_file_that_it_comes_from(folder: Path) -> None:
    document = Document.from_file(folder / "main.yaml")
    edited = Document(document.text.replace("two_nodes", "broken"), document.source)  # not saved
    (problem,) = [one for one in plan_document(edited).problems if one.path == ("cluster", "num_nodes")]
    assert (problem.file, problem.line, problem.column) == (str(folder / "layout" / "broken.yaml"), 3, 14)


@pytest.mark.usefixtures("composer")
def test_a_list_that_cannot_be_composed_is_mentioned_where_a_key_is_missing(folder: Path) -> None:
    text = RLINF.replace("two_nodes", "nowhere")
    plan = plan_document(Document(text, str(folder / "main.yaml")))
    (mentioned,) = [one for one in plan.problems if one.rule == "hydra_defaults"]
    assert "nowhere" in mentioned.message


NESTED = {
    "top.yaml": "defaults: [base, backend/fsdp@actor.conf, {optional e: gone}, _self_]\nactor: {conf: {depth: 3}}\n",
    "base.yaml": "defaults: [{model: small}, {/model@ref: large}]\nactor: {group_name: Learner}\nlist: [1]\n",
    "backend/fsdp.yaml": "defaults: [precision: bf16]\ndepth: 1\nwidth: 2\n",
    "backend/precision/bf16.yaml": "bits: 16\n",
    "model/small.yaml": "size: 1\n",
    "model/large.yaml": "size: 7\n",
}


def test_lists_inside_of_lists_are_composed_as_by_hydra(tmp_path: Path, composer: str) -> None:
    for name, text in NESTED.items():
        (tmp_path / name).parent.mkdir(exist_ok=True, parents=True)
        (tmp_path / name).write_text(text)
    composed = Document.from_file(tmp_path / "top.yaml").composed
    assert {name: composed[name] for name in ("actor", "model", "ref", "list")} == {
        "actor": {
            "group_name": "Learner",
            "conf": {"depth": 3, "width": 2, "precision": {"bits": 16}},
        },
        "model": {"size": 1},
        "ref": {"size": 7},
        "list": [1],
    }


def test_a_verl_file_with_defaults(folder: Path) -> None:
    text = (
        "defaults: [_generated/actor@actor_rollout_ref.actor, _self_]\n"
        "trainer: {nnodes: 1, n_gpus_per_node: 8}\n"
        "algorithm: {adv_estimator: grpo}\n"
        "actor_rollout_ref:\n"
        "  rollout: {name: vllm, n_gpus_per_node: '${oc.select:trainer.n_gpus_per_node,8}'}\n"
    )
    (folder / "ppo.yaml").write_text(text)
    plan = plan_document(Document.from_file(folder / "ppo.yaml"))
    assert plan.components["actor_rollout_ref"].roles == ("actor", "rollout", "ref")


@pytest.mark.usefixtures("composer")
def test_the_file_that_a_running_job_names_is_read_with_what_its_command_line_replaces(folder: Path) -> None:
    (folder / "model" / "names.yaml").write_text("# @package _global_\nactor: {group_name: Learner}\n")
    (folder / "job.yaml").write_text(RLINF.replace("- _self_", "- model: names\n  - _self_"))
    words = ["python", "/opt/rlinf/train.py", "--config-path", str(folder), "--config-name=job", "cluster.num_nodes=1"]
    job = RayJobSeen("01", list2cmdline(words))
    rlinf = framework("rlinf")
    said = rlinf.configuration(job, {})
    assert said is not None
    found = read_configuration(said, "01")
    assert found is not None
    plan = found.plan(rlinf)
    assert (found.document.source, len(plan.nodes)) == (str(folder / "job.yaml"), 1)
    assert plan.components["actor"].group_name == "Learner"
