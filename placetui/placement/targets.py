"""What a person means by `actor:3`, `node0/gpu5` or `rollout`."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from placetui.placement.plan import GPU, Plan, PlanNode
from placetui.placement.problems import count, listing
from placetui.placement.wording import kind_name, ranges

_RANK = re.compile(r"(?P<component>.*?)\s*[:\s]\s*(?P<rank>\d{1,9})", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Target:
    """A component, one of its ranks, a node, or one of its devices."""

    kind: Literal["component", "rank", "node", "device"]
    component: str = ""
    rank: int = -1
    node: int = -1
    device: str = GPU
    """Kind of the device: `gpu` or a hardware type."""

    index: int = -1


class UnknownTarget(LookupError):
    """Nothing in the plan is called so; `hint` names what is near."""

    def __init__(self, message: str, hint: str) -> None:
        super().__init__(message)
        self.hint = hint


def find_target(plan: Plan, text: str) -> Target:
    """What `text` names: a component, `actor:3` or `actor 3`, `node0/gpu5`, `node1/Franka0`, or a node.

    A node goes by its name, its address or its rank.

    Raises:
        UnknownTarget: there is no such thing.
    """
    text = text.strip()
    component = _component(plan, text)
    if component is not None:
        return Target("component", component)
    rank = _RANK.fullmatch(text)
    if rank:
        component = _component(plan, rank["component"])
        if component is not None:
            return _rank(plan, component, int(rank["rank"]))
    node = _node(plan, text)
    if node is not None:
        return Target("node", node=node.rank)
    name, slash, device = text.rpartition("/")
    node = _node(plan, name) if slash else None
    if node is not None:
        return _device(node, device)
    raise UnknownTarget(f"there is no `{text}` in the plan", _hint(plan, text))


def _component(plan: Plan, name: str) -> str | None:
    if name in plan.components:
        return name
    alike = [known for known in plan.components if known.lower() == name.lower()]
    return alike[0] if len(alike) == 1 else None


def _rank(plan: Plan, component: str, rank: int) -> Target:
    size = plan.components[component].world_size
    if rank < size:
        return Target("rank", component, rank)
    hint = f"its ranks are 0 to {size - 1}" if size else "it has no ranks here"
    raise UnknownTarget(f"`{component}` has {count(size, 'rank')}; there is no rank {rank}", hint)


def _node(plan: Plan, name: str) -> PlanNode | None:
    for node in plan.nodes:
        if name in (node.name, node.ip):
            return node
    number = name.lower().removeprefix("node")
    if number.isascii() and number.isdigit() and len(number) < 10 and int(number) < len(plan.nodes):
        return plan.nodes[int(number)]
    return None


def _device(node: PlanNode, text: str) -> Target:
    kinds = {GPU: node.gpus, **node.hardware}
    # The longest name first: DOSW1 must not be taken for device 1 of something called DOSW.
    for kind in sorted(kinds, key=len, reverse=True):
        rest = text.strip().lower()
        if rest.startswith(kind.lower()):
            rest = rest[len(kind) :]
        elif kind != GPU:
            continue
        rest = rest.strip(" :")
        if rest.isascii() and rest.isdigit() and len(rest) < 10 and int(rest) < kinds[kind]:
            return Target("device", node=node.rank, device=kind, index=int(rest))
    there = [f"{kind_name(kind)} {ranges(range(number))}" for kind, number in kinds.items() if number]
    hint = f"it has {listing(there)}" if there else "it has no devices"
    raise UnknownTarget(f"{node.name} has no `{text.strip()}`", hint)


def _hint(plan: Plan, text: str) -> str:
    from difflib import get_close_matches

    broken = {problem.component for problem in plan.problems if problem.component}
    head, colon, rank = text.partition(":")
    if head in broken:
        return f"`{head}` could not be placed: see its problem"
    node, slash, device = text.rpartition("/")
    if slash:
        near = get_close_matches(node[:200], [node.name for node in plan.nodes[:5000]], 1)
        if near:
            return f"did you mean `{near[0]}/{device}`?"
    names = [*plan.components, *(node.name for node in plan.nodes[:5000])]
    near = get_close_matches(head[:200], names, 1)
    if near:
        return f"did you mean `{near[0]}{colon if near[0] in plan.components else ''}{rank}`?"
    components = listing(f"`{name}`" for name in plan.components) or "none"
    return f"name a component ({components}), a rank such as `actor:3`, or a device such as `node0/gpu5`"
