"""Files that a configuration names are read."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from placetui.document import Document
from placetui.document.planning import named_files
from placetui.placement.config.reader import Reader
from placetui.placement.problems import Problems

GROUPS = ("slime", "sglang_config")


def read(config: Mapping[str, Any], source: str, *paths: tuple[str | int, ...]) -> dict[Any, Any]:
    found = named_files(source, Reader(config, Problems()), paths)
    return {path: dict(one) for path, one in found.items()}


def test_a_named_file_is_read_from_the_folder_of_the_configuration(tmp_path: Path) -> None:
    (tmp_path / "groups.yaml").write_text("sglang:\n  - name: actor\n    num_gpus: 8\n")
    text = "slime: {sglang_config: groups.yaml, custom_config_path: null, actor_num_nodes: 1}\n"
    document = Document(text, str(tmp_path / "job.yaml"))
    others = [("slime", name) for name in ("custom_config_path", "missing", "actor_num_nodes")]
    found = read(document.config, document.source, GROUPS, *others, ("x", 0))
    assert found == {GROUPS: {"sglang": [{"name": "actor", "num_gpus": 8}]}}


def test_absolute_names_and_interpolations_are_followed(tmp_path: Path) -> None:
    (tmp_path / "groups.yaml").write_text("a: 1\n")
    config = {"root": str(tmp_path), "slime": {"sglang_config": "${root}/groups.yaml", "other": "${nowhere}/x.yaml"}}
    assert read(config, "elsewhere/job.yaml", GROUPS, ("slime", "other")) == {GROUPS: {"a": 1}}


def test_what_cannot_be_read_is_left_out(tmp_path: Path) -> None:
    (tmp_path / "broken.yaml").write_text("a: [1\n")
    (tmp_path / "twice.yaml").write_text("a: 1\na: 2\n")
    for name in ("no.yaml", "broken.yaml", "twice.yaml"):
        assert read({"slime": {"sglang_config": name}}, str(tmp_path / "job.yaml"), GROUPS) == {}
