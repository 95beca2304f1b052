"""Files that Hydra's `defaults:` name, composed by hydra-core."""

from __future__ import annotations

from pathlib import Path

import pytest

from placetui.document import Document, plan_document

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


def test_values_of_other_files_count(folder: Path) -> None:
    plan = plan_document(Document.from_file(folder / "main.yaml"))
    assert plan.problems == []
    assert len(plan.nodes) == 2
    assert [len(one.devices) for one in plan.components["rollout"].placements] == [4] * 4


def test_a_problem_is_shown_in_the_file_that_it_comes_from(folder: Path) -> None:
    document = Document.from_file(folder / "main.yaml")
    edited = Document(document.text.replace("two_nodes", "broken"), document.source)  # not saved
    (problem,) = [one for one in plan_document(edited).problems if one.path == ("cluster", "num_nodes")]
    assert (problem.file, problem.line, problem.column) == (str(folder / "layout" / "broken.yaml"), 3, 14)


def test_a_list_that_cannot_be_composed_is_mentioned_where_a_key_is_missing(folder: Path) -> None:
    text = RLINF.replace("two_nodes", "nowhere")
    plan = plan_document(Document(text, str(folder / "main.yaml")))
    (mentioned,) = [one for one in plan.problems if one.rule == "hydra_defaults"]
    assert "nowhere" in mentioned.message


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
