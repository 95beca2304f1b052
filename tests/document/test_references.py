"""Files that a configuration names are read with their origin."""

from __future__ import annotations

from pathlib import Path

from placetui.document import Document
from placetui.document.reading.references import read_references

GROUPS = ("slime", "sglang_config")


def test_a_named_file_is_read_from_the_folder_of_the_configuration(tmp_path: Path) -> None:
    (tmp_path / "groups.yaml").write_text("sglang:\n  - name: actor\n    num_gpus: 8\n")
    text = "slime: {sglang_config: groups.yaml, custom_config_path: null, actor_num_nodes: 1}\n"
    document = Document(text, str(tmp_path / "job.yaml"))
    wanted: list[tuple[str | int, ...]] = [
        GROUPS,
        ("slime", "custom_config_path"),
        ("slime", "missing"),
        ("slime", "actor_num_nodes"),
        ("x", 0),
    ]
    found = read_references(document.source, document.config, wanted)
    assert list(found) == [GROUPS]
    reference = found[GROUPS]
    assert (reference.named, reference.file) == ("groups.yaml", str(tmp_path / "groups.yaml"))
    assert reference.config["sglang"] == [{"name": "actor", "num_gpus": 8}]
    assert reference.document is not None
    assert reference.document.locate(("sglang", 0, "num_gpus")) == (3, 15)
    assert reference.problems == ()


def test_absolute_names_and_interpolations_are_followed(tmp_path: Path) -> None:
    (tmp_path / "groups.yaml").write_text("a: 1\n")
    config = {"root": str(tmp_path), "slime": {"sglang_config": "${root}/groups.yaml", "other": "${nowhere}/x.yaml"}}
    found = read_references("elsewhere/job.yaml", config, [GROUPS, ("slime", "other")])
    assert {path: dict(one.config) for path, one in found.items()} == {GROUPS: {"a": 1}}


def test_what_cannot_be_read_says_why_and_names_its_file(tmp_path: Path) -> None:
    (tmp_path / "broken.yaml").write_text("a: [1\n")
    (tmp_path / "twice.yaml").write_text("a: 1\na: 2\n")
    for name, rule in [("no.yaml", "file_not_found"), ("broken.yaml", "yaml_syntax"), ("twice.yaml", "duplicate_key")]:
        config = {"slime": {"sglang_config": name}}
        reference = read_references(str(tmp_path / "job.yaml"), config, [GROUPS])[GROUPS]
        assert [problem.rule for problem in reference.problems] == [rule]
        assert {problem.file for problem in reference.problems} == {str(tmp_path / name)}
        assert dict(reference.config) == ({"a": 2} if name == "twice.yaml" else {})
