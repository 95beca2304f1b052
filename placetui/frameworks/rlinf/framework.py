"""RLinf behind the protocol of a framework. Light to import: each part loads what it needs when it is asked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from placetui.frameworks.base import EACH_ITEM, EACH_KEY, Framework, Override, deferred
from placetui.frameworks.rlinf import RULES
from placetui.placement.config.reader import Reader
from placetui.placement.plan import Plan
from placetui.placement.problems import Problems
from placetui.placement.topology import CLUSTER, Node, Topology

if TYPE_CHECKING:
    from placetui.frameworks.demand import RayDemand
    from placetui.frameworks.new_job import Layout
    from placetui.placement.edits import Edit, Operation


class RLinf(Framework):
    """Rules per component over node groups, and model-parallel modes."""

    name = "rlinf"
    title = "RLinf"
    sections = (CLUSTER, "runner", "actor", "rollout", "critic")
    outline = "`cluster:` with `num_nodes` and `component_placement`"
    modes = ("component", "hybrid", "model_parallel", "model_parallel_eval", "multi_agent", "multi_agent_eval")
    rules_at = RULES
    texts = (
        (*RULES, EACH_KEY),
        (*RULES, EACH_KEY, "placement"),
        (*RULES, EACH_KEY, "node_group"),
        (*RULES, EACH_KEY, "node_group", EACH_ITEM),
        (CLUSTER, "node_groups", EACH_ITEM, "label"),
        (CLUSTER, "node_groups", EACH_ITEM, "node_ranks"),
        (CLUSTER, "node_groups", EACH_ITEM, "node_ranks", EACH_ITEM),
    )
    tolerated_rules = frozenset(
        "mp_neither_mode mp_inference_in_collocated mp_auto_order mp_auto_not_disaggregated "
        "ma_actor_reward ma_rollout_subset ma_conflict".split()
    )
    node_rank_variable = "RLINF_NODE_RANK"
    device_order = "physical_id"
    environment_read = frozenset(
        "ACCELERATOR_TYPE CLUSTER_NAMESPACE CLUSTER_NODE_RANK EMBODIED_PATH GROUP_NAME LOCAL_HARDWARE_RANKS "
        "NODE_GROUP_LABEL PWD RANK REPO_PATH VISIBLE_DEVICES WORKER_NAME WORLD_SIZE".split()
    )
    plan = deferred("placetui.frameworks.rlinf.plan", "plan_rlinf")
    identify = deferred("placetui.frameworks.rlinf.identify", "identify")
    with_names = deferred("placetui.frameworks.rlinf.launched", "with_names")
    configuration = deferred("placetui.frameworks.rlinf.entrypoint", "configuration")
    order_nodes = deferred("placetui.frameworks.rlinf.nodes", "order_nodes")
    template = deferred("placetui.frameworks.rlinf.layouts", "template")

    def matches(self, config: Reader) -> bool:
        return "component_placement" in config.keys(CLUSTER)

    def demand(self, plan: Plan) -> RayDemand:
        """RLinf ties actors to nodes and reserves nothing: Ray does not count its GPUs. Beside the ranks it starts a
        probe on each node, and five managers on the first.
        """
        from placetui.frameworks.demand import ActorDemand, RayDemand

        services = (ActorDemand("NodeProbe", {}, len(plan.nodes)), ActorDemand("managers", {}, 5))
        ranks = (ActorDemand(name, {}, one.world_size) for name, one in plan.components.items())
        return RayDemand(actors=(*services, *ranks))

    def resize(self, nodes: int) -> list[Override]:
        return [((CLUSTER, "num_nodes"), nodes)]

    def edit(self, plan: Plan, operation: Operation, config: Mapping[str, Any]) -> Edit:
        from placetui.frameworks.rlinf.edit import RuleEditor

        return RuleEditor(plan, config).edit(operation)

    def arrange(self, plan: Plan, layout: Layout, training: int | None, config: Mapping[str, Any]) -> list[Override]:
        from placetui.frameworks.rlinf.layouts import arrange

        return arrange(plan, layout, training)

    def topology(self, section: Mapping[str, Any], nodes: Sequence[Node] | None, problems: Problems) -> Topology:
        from placetui.frameworks.rlinf.cluster_section import read_cluster

        return read_cluster(section, nodes, problems).topology


FRAMEWORK = RLinf()
