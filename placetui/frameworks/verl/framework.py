"""verl behind the protocol of a framework. Light to import: each part loads what it needs when it is asked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from placetui.frameworks.base import Framework, Override, deferred
from placetui.placement.config.reader import Reader
from placetui.placement.plan import Plan

if TYPE_CHECKING:
    from placetui.frameworks.cluster_facts import NodeOrder, RayJobSeen, RayNodeFacts
    from placetui.frameworks.demand import RayDemand
    from placetui.frameworks.entrypoint import JobConfiguration


class Verl(Framework):
    """Pools of GPUs with fused training processes, and replicas of inference servers."""

    name = "verl"
    title = "verl"
    sections = (
        *("trainer", "actor_rollout_ref", "algorithm", "critic", "reward", "reward_model", "distillation"),
        *("rollout", "async_training", "data", "transfer_queue"),
    )
    outline = "`trainer:` and `actor_rollout_ref:` with verl's configuration"
    texts = (("placetui", "verl_version"),)
    programs = (
        "verl.trainer.main_ppo",
        "verl.experimental.fully_async_policy.fully_async_main",
        "verl.experimental.one_step_off_policy.main_ppo",
        "verl.trainer.main_generation_server",
        "verl.trainer.sft_trainer_ray",
        "verl.trainer.sft_trainer",
    )
    needs_gpus = True
    device_order = "lowest_id"
    environment_read = frozenset({"RANK", "WORLD_SIZE", "RAY_LOCAL_WORLD_SIZE", "WG_PREFIX"})
    interchangeable = frozenset({"actor_rollout_ref", "actor_rollout", "actor"})
    plan = deferred("placetui.frameworks.verl.plan", "plan_verl")
    cluster_problems = deferred("placetui.frameworks.verl.plan", "transfer_queue_problems")
    identify = deferred("placetui.frameworks.verl.identify", "identify")
    from_command = deferred("placetui.frameworks.verl.command", "import_command")
    edit = deferred("placetui.frameworks.verl.edit", "edit")
    template = deferred("placetui.frameworks.verl.edit", "template")

    def matches(self, config: Reader) -> bool:
        if config.has_key("cluster", "component_placement") or config.has_key("slime"):
            return False
        if config.has("placetui", "verl_entry"):
            return True
        sized = any(config.has_key("trainer", key) for key in ("nnodes", "n_gpus_per_node", "use_v1"))
        return config.is_section("actor_rollout_ref") or (config.is_section("trainer") and sized)

    def demand(self, plan: Plan) -> RayDemand:
        """The groups in the order of the requests; each rank takes its share of a bundle and one CPU."""
        from placetui.frameworks.demand import ActorDemand, BundleDemand, GroupDemand, RayDemand

        groups = tuple(
            GroupDemand(one.name, one.strategy, (BundleDemand(one.resources, one.bundles),)) for one in plan.groups
        )
        storage = [one for one in plan.services if one.name.endswith("SimpleStorageUnit")]
        services = [ActorDemand(one.name, {"CPU": one.cpus}, 1) for one in plan.services if one not in storage]
        services.append(ActorDemand("SimpleStorageUnit", {"CPU": 1}, round(sum(one.cpus for one in storage))))
        waiting = [replace(one, before_groups=True) for one in services if one.count and any(one.resources.values())]
        return RayDemand(groups, tuple(waiting))

    def configuration(self, job: RayJobSeen, environment: Mapping[str, str]) -> JobConfiguration | None:
        """What the command line says, with verl's defaults for the rest."""
        from placetui.frameworks.entrypoint import JobConfiguration, split_command

        words = split_command(job.entrypoint)
        if not any(word in self.programs for word in words):
            return None
        found = self.from_command(words, None)
        return JobConfiguration(found.text, notes=found.notes)

    def order_nodes(
        self, nodes: Sequence[RayNodeFacts], driver: str, ranks: Mapping[str, str | None], *, node_groups: bool = False
    ) -> NodeOrder:
        """As verl sorts the groups of a pool: by the text of the address."""
        from placetui.frameworks.cluster_facts import NodeOrder

        usable = [node for node in nodes if node.gpus] or list(nodes)
        return NodeOrder(tuple(node.id for node in sorted(usable, key=lambda one: one.ip)), "the address, as text")

    def resize(self, nodes: int) -> list[Override]:
        return [(("trainer", "nnodes"), nodes)]


FRAMEWORK = Verl()
