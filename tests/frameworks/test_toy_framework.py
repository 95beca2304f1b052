"""A framework that only this file knows gets a grid, problems, explanations, differences and JSON like any other."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import pytest

from placetui.cli.main import main
from placetui.document import Document, plan_document
from placetui.document.edit import Edited, attempt
from placetui.frameworks import registry
from placetui.frameworks.base import Framework, PlanOptions
from placetui.frameworks.cluster_facts import NodeOrder, RayNodeFacts
from placetui.frameworks.demand import ActorDemand, RayDemand
from placetui.placement.config.reader import Reader
from placetui.placement.diff import diff_plans
from placetui.placement.edits import Refusal, Resize, SetShare
from placetui.placement.explain import explain
from placetui.placement.plan import Component, Plan, Rule
from placetui.placement.problems import PlacementError, Problems
from placetui.placement.strategies import PackedPlacementStrategy
from placetui.placement.topology import Node, Topology

FILE = "toy: {learners: 4, players: 2}\nplacetui: {topology: {nodes: 1, gpus_per_node: 4}}\n"


class Toy(Framework):
    """So many learners from the first GPU on, so many players beside them."""

    name = "toy"
    title = "Toy"
    sections = ("toy",)
    outline = "`toy:` with `learners` and `players`"

    def matches(self, config: Reader) -> bool:
        return config.has_key("toy")

    def plan(self, config: Reader, options: PlanOptions, problems: Problems) -> Plan:
        topology = Topology(options.nodes or [Node(8)])
        components = {}
        for name in ("learners", "players"):
            at = problems.at(("toy", name), component=name)
            size = config.get("toy", name, default=1)
            try:
                placements = PackedPlacementStrategy(0, size - 1).place(topology, options.isolate_accelerator)
            except PlacementError as error:
                at.adopt(error.problems)
                continue
            components[name] = Component(name, Rule(str(size), at.path, keys=(name,)), "packed", placements)
        source = "assumed" if options.nodes is None else options.topology_source
        return Plan(options.source, self.name, self.name, None, source, topology, components)

    def demand(self, plan: Plan) -> RayDemand:
        return RayDemand(actors=tuple(ActorDemand(n, {"GPU": 1}, c.world_size) for n, c in plan.components.items()))

    def order_nodes(
        self, nodes: Sequence[RayNodeFacts], driver: str, ranks: Mapping[str, str | None], *, node_groups: bool = False
    ) -> NodeOrder:
        return NodeOrder(tuple(node.id for node in nodes), "as listed")


@pytest.fixture(autouse=True)
def _registered() -> Iterator[None]:
    with registry.registered(Toy()):
        yield


def test_the_plan_is_the_frameworks() -> None:
    plan = plan_document(Document(FILE))
    assert (plan.framework, plan.problems) == ("toy", [])
    assert registry.framework_of(plan).title == "Toy"
    assert [device.total_share for device in plan.devices] == [1.0, 1.0, 0.5, 0.5]
    shown = plan.to_dict()
    assert (shown["mode"], shown["components"]["learners"]["world_size"]) == ("toy", 4)


def test_it_is_checked_drawn_and_explained(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "toy.yaml"
    file.write_text(FILE, encoding="utf-8")
    assert main(["check", str(file)]) == 0
    assert main(["show", str(file)]) == 0
    assert "node0" in capsys.readouterr().out
    assert main(["explain", str(file), "learners:3"]) == 0
    assert "learners 3 is on node0" in capsys.readouterr().out
    file.write_text(FILE.replace("learners: 4", "learners: 9"), encoding="utf-8")
    assert main(["check", str(file)]) == 1
    assert f"{file}:1:17: error[hardware_rank_out_of_range]" in capsys.readouterr().out


def test_two_of_its_files_are_compared() -> None:
    before, after = plan_document(Document(FILE)), plan_document(Document(FILE.replace("players: 2", "players: 1")))
    assert diff_plans(before, after).to_dict()["schema"] == 1
    assert explain(after, "players").to_dict()["component"] == "players"


def test_what_it_does_not_offer_is_refused_and_the_rest_works() -> None:
    document = Document(FILE)
    plan = plan_document(document)
    refused = attempt(document, plan, Resize("learners", -1))
    assert isinstance(refused, Refusal)
    assert "Toy files cannot be edited" in refused.reason
    assert isinstance(attempt(document, plan, SetShare("learners", 0.5)), Edited)


def test_a_file_of_two_frameworks_is_a_problem() -> None:
    plan = plan_document(Document(FILE + "slime: {colocate: true}\n"))
    assert "two_layouts" in [problem.rule for problem in plan.problems if problem.blocking]
