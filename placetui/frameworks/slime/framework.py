"""slime behind the protocol of a framework. Light to import: each part loads what it needs when it is asked."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from placetui.frameworks.base import DeviceOrder, Framework, PlanOptions, deferred
from placetui.placement.config.reader import Reader
from placetui.placement.plan import Plan
from placetui.placement.problems import Path, Problems

if TYPE_CHECKING:
    from placetui.frameworks.cluster_facts import ClusterFacts, NodeOrder, RankSeen, RayJobSeen, RayNodeFacts
    from placetui.frameworks.demand import RayDemand
    from placetui.frameworks.entrypoint import JobConfiguration
    from placetui.frameworks.new_job import ImportedFile, ScriptContext
    from placetui.frameworks.picture import Devices
    from placetui.frameworks.slime.layout import Derivation
    from placetui.placement.edits import Edit, Operation


class Slime(Framework):
    """Sizes of training and rollout, laid out over slots."""

    name = "slime"
    title = "slime"
    sections = ("slime",)
    outline = "`slime:` with slime's arguments"
    needs_gpus = True
    device_order: DeviceOrder = "lowest_id"
    environment_read = frozenset(
        {
            "ENABLE_ROUTING_REPLAY",
            "NVSHMEM_DISABLE_NCCL",
            "RAY_EXPERIMENTAL_NOSET_HIP_VISIBLE_DEVICES",
            "RAY_EXPERIMENTAL_NOSET_MUSA_VISIBLE_DEVICES",
            "RAY_EXPERIMENTAL_NOSET_ROCR_VISIBLE_DEVICES",
            "SGLANG_DG_CACHE_DIR",
            "SGLANG_JIT_KERNEL_EXTRA_PATH",
            "TMS_DISK_BACKUP_DIR",
        }
    )
    programs: tuple[str, ...] = ("train.py", "train_async.py")
    settings: Mapping[str, str] = MappingProxyType({"slime_version": "head"})
    """What a file of a real job says under `placetui:`."""

    only_at_head = True
    """Whether files that a configuration names are read with `slime_version: head` only."""

    ports = deferred("placetui.frameworks.slime.ports", "fixed_ports")
    arrange = deferred("placetui.frameworks.slime.template", "arrange")
    template = deferred("placetui.frameworks.slime.template", "template")

    def derivation(self) -> type[Derivation]:
        """What makes a layout of the arguments: a fork has its own."""
        from placetui.frameworks.slime.layout import Derivation

        return Derivation

    def matches(self, config: Reader) -> bool:
        return config.has_key("slime")

    def references(self, config: Reader) -> list[Path]:
        if self.only_at_head and config.get("placetui", "slime_version", default=None) != "head":
            return []
        from placetui.frameworks.slime.arguments import SECTION, SLIME_ARGUMENTS, argument_name

        return [(SECTION, key) for key in config.keys(SECTION) if argument_name(key) in SLIME_ARGUMENTS.files]

    def plan(self, config: Reader, options: PlanOptions, problems: Problems) -> Plan:
        from placetui.frameworks.slime.plan import plan_slime

        return plan_slime(config, options, problems, self.name, self.derivation())

    def demand(self, plan: Plan) -> RayDemand:
        """One group for all slots, a GPU and a CPU in each bundle; ranks take their share of both. The rollout manager
        and its lock run outside of it.
        """
        from placetui.frameworks.demand import ActorDemand, BundleDemand, GroupDemand, RayDemand

        slots = plan.reserved or 0
        actors = [
            ActorDemand(name, {"GPU": one.share or 0, "CPU": one.share or 0}, one.world_size, self.name)
            for name, one in plan.components.items()
        ]
        services = [ActorDemand(name, {"CPU": 1}, 1) for name in ("RolloutManager", "Lock") if plan.services]
        group = GroupDemand(self.name, "PACK", (BundleDemand({"GPU": 1, "CPU": 1}, slots),))
        return RayDemand((group,) if slots else (), (*services, *actors))

    def identify(self, facts: ClusterFacts, plan: Plan | None) -> Iterator[RankSeen]:
        from placetui.frameworks.slime.identify import identify

        return identify(facts, plan, self.name)

    def configuration(self, job: RayJobSeen, environment: Mapping[str, str]) -> JobConfiguration | None:
        """All of it stands on the command line."""
        from placetui.frameworks.entrypoint import JobConfiguration, split_command
        from placetui.frameworks.new_job import ScriptContext

        words = split_command(job.entrypoint)
        if not any(word.endswith(".py") for word in words):
            return None
        found = self.from_command(words, ScriptContext())
        return JobConfiguration(found.text, notes=found.notes)

    def order_nodes(
        self, nodes: Sequence[RayNodeFacts], driver: str, ranks: Mapping[str, str | None], *, node_groups: bool = False
    ) -> NodeOrder:
        from placetui.frameworks.slime.order import order_nodes

        return order_nodes(nodes)

    def edit(self, plan: Plan, operation: Operation, config: Mapping[str, Any]) -> Edit:
        from placetui.frameworks.slime.edit import SlimeEditor

        return SlimeEditor(plan, config, self.derivation()).edit(operation)

    def from_command(self, words: Sequence[str], context: ScriptContext | None = None) -> ImportedFile:
        from placetui.frameworks.slime.command import import_command

        settings = {} if context is None and self.only_at_head else self.settings
        return import_command(words, self.derivation().table, context, settings)

    def sections_for(self, ranks: Mapping[str, Sequence[Devices]], gpus: Sequence[int]) -> dict[str, Any] | None:
        from placetui.frameworks.slime.template import sections_for

        return sections_for(ranks, gpus, self.settings)


FRAMEWORK = Slime()
