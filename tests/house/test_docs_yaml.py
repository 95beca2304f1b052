"""What the documentation shows is true: its files resolve, its tables are what comes out."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

import placetui
from placetui.document import Document, plan_document

ROOT = Path(__file__).parents[2]
FORMAT = (ROOT / "docs" / "file-format.md").read_text()
DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


def yaml_blocks() -> list[tuple[str, str]]:
    """Blocks that are whole placement files; those of the rules show what is wrong, and have a test of their own."""
    return [
        (f"{path.name}-{number}", text)
        for path in DOCUMENTS
        if path.name != "rules.md"
        for number, text in enumerate(re.findall(r"^```yaml\n(.*?)^```$", path.read_text(), re.MULTILINE | re.DOTALL))
        if re.search(r"^(cluster|slime|trainer):", text, re.MULTILINE)
    ]


def table(header: str) -> list[list[str]]:
    """Cells of the table of the file format that has this header."""
    start = FORMAT.index(header)
    rows = FORMAT[start:].split("\n\n")[0].splitlines()[2:]
    return [[cell.strip() for cell in row.strip("|").split("|")] for row in rows]


@pytest.mark.parametrize(("name", "text"), yaml_blocks(), ids=lambda value: value if len(value) < 40 else "")
def test_yaml_blocks_resolve(name: str, text: str) -> None:
    plan = plan_document(Document(text, name))
    assert [problem.format() for problem in plan.problems] == []
    assert plan.components


@pytest.mark.parametrize("row", table("| rule | processes |"), ids=lambda row: row[0])
def test_rules_give_the_processes_of_the_table(row: list[str]) -> None:
    rule, processes, devices = row
    config = {"cluster": {"num_nodes": 2, "component_placement": {"actor": rule.strip("`")}}}
    placements = placetui.resolve(config, [placetui.Node(8)] * 2).components["actor"].placements
    held = [[one.cluster_node_rank * 8 + gpu for gpu in one.local_hardware_ranks] for one in placements]
    assert len(placements) == int(processes)
    assert " ".join(f"{{{','.join(map(str, numbers))}}}" for numbers in held) == devices


@pytest.mark.parametrize("row", table("| on the nodes above |"), ids=lambda row: row[0])
def test_rules_over_groups_give_the_places_of_the_table(row: list[str]) -> None:
    rule, processes, where = row
    [text] = [text for _, text in yaml_blocks() if "label: cpu" in text]
    written = text.replace("  component_placement:\n", f"  component_placement:\n    other: {rule.strip('`')}\n")
    gpus: dict[int, list[int]] = {}
    placements = plan_document(Document(written)).components["other"].placements
    for placement in placements:
        gpus.setdefault(placement.cluster_node_rank, []).extend(placement.local_hardware_ranks)
    places = [f"node {node}" + (f", GPUs {held[0]}-{held[-1]}" if held else "") for node, held in gpus.items()]
    assert len(placements) == int(processes)
    assert where == ("two on each node" if len(gpus) == 4 else "; ".join(places))


@pytest.mark.parametrize("row", table("| on eight GPUs | shares |"), ids=lambda row: row[0])
def test_shares_are_those_of_the_table(row: list[str]) -> None:
    rules = dict(re.findall(r"`(\w+): ([^`]+)`", row[0]))
    components = placetui.resolve({"cluster": {"num_nodes": 1, "component_placement": rules}}).components
    of_components, _, of_ranks = row[1].partition("; each ")
    assert of_components == ", ".join(f"{name} {component.share}" for name, component in components.items())
    if of_ranks:
        name, _, share = of_ranks.partition(" rank ")
        ranks = range(components[name].world_size)
        assert {components[name].rank_share(rank) for rank in ranks} == {float(share)}


def test_every_argument_of_slime_that_placement_reads_is_explained() -> None:
    from placetui.frameworks.slime.arguments import KNOWN_ARGUMENTS

    explained = {name for row in table("| argument | default |") for name in re.findall(r"`(\w+)`", row[0])}
    assert explained == set(KNOWN_ARGUMENTS)


def test_the_readme_shows_what_its_commands_print() -> None:
    blocks = re.findall(r"^```console\n(.*?)^```$", (ROOT / "README.md").read_text(), re.MULTILINE | re.DOTALL)
    shown = [part.partition("\n") for block in blocks for part in block.split("$ placetui ")[1:]]
    assert shown
    for command, _, output in shown:
        done = subprocess.run(
            [sys.executable, "-m", "placetui", *shlex.split(command)],
            cwd=ROOT,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert done.stdout + done.stderr == output


def test_links_between_documents_lead_somewhere() -> None:
    for path in [*DOCUMENTS, ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md"]:
        for target, anchor in re.findall(r"\]\(([^)#:\s]*)(?:#([^)]*))?\)", path.read_text()):
            page = path.parent / target if target else path
            assert page.exists(), f"{path.name}: {target}"
            assert not anchor or anchor in anchors(page), f"{path.name}: {target}#{anchor}"


def anchors(page: Path) -> set[str]:
    """What links to a heading of a page are called, as GitHub makes them."""
    titles = re.findall(r"^#+ (.+)$", page.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}
