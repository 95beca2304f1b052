"""The protocol of a framework."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from importlib import import_module
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol, TypeAlias

from placetui.placement.cache import PlanCache
from placetui.placement.config.reader import Reader
from placetui.placement.config.settings import Settings
from placetui.placement.plan import Plan, TopologySource
from placetui.placement.problems import Path, Problem, Problems
from placetui.placement.topology import Node, Topology

if TYPE_CHECKING:  # a command that only plans has no use for them
    from placetui.frameworks.cluster_facts import ClusterFacts, NodeOrder, RankSeen, RayJobSeen, RayNodeFacts
    from placetui.frameworks.demand import PortDemand, RayDemand
    from placetui.frameworks.entrypoint import JobConfiguration
    from placetui.frameworks.new_job import ImportedFile, JobSize, Layout, ScriptContext
    from placetui.frameworks.picture import Devices
    from placetui.placement.edits import Edit, Operation, Refusal

Override: TypeAlias = tuple[Path, Any]
"""A value of the file that is replaced, without editing the file."""


def deferred(module: str, name: str) -> Any:
    """A part of a framework that a function of another module does; it is imported when it is called."""
    return staticmethod(lambda *values, **options: getattr(import_module(module), name)(*values, **options))


EACH_KEY = "*"
EACH_ITEM = "[*]"
"""In a pattern of paths: every key of a mapping, every item of a list."""

DeviceOrder: TypeAlias = Literal["lowest_id", "text_id", "physical_id", "as_listed"]
"""Which GPU planned device i of a node is, where a raylet runs under CUDA_VISIBLE_DEVICES: the i-th lowest physical
id of the list, the i-th in the order of texts (0, 1, 10, 2), physical GPU i by NVML whatever the list says, or the
i-th entry of the list."""


class PlanOptions(NamedTuple):
    """What a plan depends on besides the file's own sections."""

    nodes: tuple[Node, ...] | None
    """In rank order; None where the framework must assume some."""

    topology_source: TopologySource
    mode: str | None
    """What the user or the file asks for; None for what the framework reads in the file itself."""

    isolate_accelerator: bool
    source: str
    settings: Settings
    cache: PlanCache
    """Of the planner: keeps parts that the next plan may use again."""

    files: Mapping[Path, Mapping[str, Any]] = MappingProxyType({})
    """What other files say that the configuration names, by the path of the value; those that could be read."""


class Framework(Protocol):
    """How one RL framework places its processes, asks Ray for them, and names them once they run.

    What it sets in the environment of a rank stands in the plan: `Component.environment` and `Plan.chooses_by_id`.
    A part that a framework does not offer is None, and the interface says so.
    """

    name: str
    """Short and stable; in `Plan.framework` and in JSON."""

    title: str
    """For people."""

    sections: tuple[str, ...]
    """Top-level keys that it reads; the first is the one that makes a file its own."""

    outline: str
    """What a file needs, for the hint of one that places nothing; empty if another framework says the same."""

    modes: tuple[str, ...] = ()
    """Values of `placetui.mode` and `--mode`."""

    rules_at: Path | None = None
    """The mapping from components to placement rules; None where a file has no rules."""

    texts: tuple[Path, ...] = ()
    """Patterns of values that it reads as text whatever type YAML gives them. A pattern that ends in `EACH_KEY` means
    the keys, too."""

    tolerated_rules: frozenset[str] = frozenset()
    """Rules about how components relate to each other. The way from one valid layout to another may break them for a
    while, so an edit that does is shown, not refused."""

    node_rank_variable: str | None = None
    """A label or variable by which a node says its rank."""

    needs_gpus: bool = False
    """Whether only nodes with GPUs count."""

    device_order: DeviceOrder = "as_listed"

    def matches(self, config: Reader) -> bool:
        """Whether a file is this framework's."""

    def references(self, config: Reader) -> list[Path]:
        """Values that name other files to be read for a plan."""
        return []

    def plan(self, config: Reader, options: PlanOptions, problems: Problems) -> Plan:
        """Who goes where, as far as it can be resolved. Shares are up to the caller, except those it sets itself."""

    def demand(self, plan: Plan) -> RayDemand:
        """What it will ask of Ray."""

    def cluster_problems(
        self, plan: Plan, nodes: Mapping[str, Mapping[str, float]], actors: Collection[tuple[str, str]]
    ) -> Iterator[Problem]:
        """What a cluster as it is holds against a launch, besides what Ray's scheduling says.

        `nodes` have the resources of each node by its title, `actors` the namespace and name of those that live.
        """
        return iter(())

    def ports(self, config: Reader) -> list[PortDemand]:
        """Ports that a file fixes; most are found when a job starts."""
        return []

    environment_read: frozenset[str] = frozenset()
    """Variables of an actor's environment that `identify` and `configuration` read. The rest may be secret: it is
    dropped where it is read."""

    def identify(self, facts: ClusterFacts, plan: Plan | None) -> Iterator[RankSeen]:
        """Which actor is which rank, and which are services; nothing for a job of another framework.

        The facts have the actors of one Ray job, dead ones too; the plan is of its own configuration, where known.
        """
        return iter(())

    def with_names(self, plan: Plan, config: Reader) -> Plan:
        """The plan with the names that a job of this file is known by: `Component.group_name`, `Plan.not_launched`.

        Asked for only where a job is watched: planning itself reads as little of a file as it can. As a rule components
        are started one after another: one of which nothing was ever seen is not launched yet.
        """
        return replace(plan, not_launched={"": frozenset(plan.components)})

    interchangeable: frozenset[str] = frozenset()
    """Names of components of which a job has one, where its processes do not say which: the file decides."""

    def configuration(self, job: RayJobSeen, environment: Mapping[str, str]) -> JobConfiguration | None:
        """Where the configuration of a running job is, as its entrypoint and the environment of a rank say."""
        return None

    def order_nodes(
        self, nodes: Sequence[RayNodeFacts], driver: str, ranks: Mapping[str, str | None], *, node_groups: bool = False
    ) -> NodeOrder:
        """Which node of a cluster is which node of the plan; raises `NodeOrderError`.

        Nodes come in Ray's order, and `driver` is the id of the driver's. `ranks` have by node id what
        `node_rank_variable` says there, and None where it is not set; `node_groups`: whether the file has any.
        """

    def resize(self, nodes: int) -> list[Override]:
        """Overrides that make a file use this many nodes."""
        return []

    edit: Callable[[Plan, Operation, Mapping[str, Any]], Edit] | None = None
    """What an operation changes in the file, whose values are given as written; raises `Refused`."""

    arrange: Callable[[Plan, Layout, int | None, Mapping[str, Any]], list[Override]] | None = None
    """Overrides that arrange the components so; empty when there is nothing to arrange. The number is that of GPUs for
    training when disaggregated; None for what the framework gives it."""

    template: Callable[[Layout, JobSize], Mapping[str, Any] | Refusal] | None = None
    """The sections of a new file with training and rollout."""

    sections_for: Callable[[Mapping[str, Sequence[Devices]], Sequence[int]], Mapping[str, Any] | None] | None = None
    """The sections of a file that places the ranks of components on these GPUs, given the GPUs of each node; None where
    no file says it. A framework without it is written as placement rules."""

    programs: tuple[str, ...] = ()
    """Files and modules that start a job, by which `import` recognises a launch script; several may share one."""

    from_command: Callable[[Sequence[str], ScriptContext | None], ImportedFile] | None = None
    """A file from the words of a command line, or from the text of a launch script; raises `ValueError`."""

    topology: Callable[[Mapping[str, Any], Sequence[Node] | None, Problems], Topology] | None = None
    """Nodes and node groups of its section, on the nodes that there are."""
