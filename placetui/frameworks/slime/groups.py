"""Server groups: rollout engines of one kind and size, on consecutive slots."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from placetui.frameworks.slime.arguments import shown
from placetui.placement.problems import ProblemReporter
from placetui.placement.wording import count, listing, quoted

WORKER_TYPES = ("regular", "prefill", "decode", "encoder", "placeholder")
DEFAULT_MODEL = "default"
EVAL_MODEL = "eval"
"""Of Miles: the model whose engines only evaluate."""

_GROUP_KEYS = ("worker_type", "num_gpus", "num_gpus_per_engine", "overrides")


@dataclass(frozen=True, slots=True)
class GroupSize:
    """A server group as a configuration asks for it."""

    worker_type: str
    num_gpus: int
    num_gpus_per_engine: int
    place: tuple[int, int] | None = None
    """Where the configuration has it: index of the model, and of the group in it."""


@dataclass(frozen=True, slots=True)
class Model:
    """A model that rollout serves, behind its own router."""

    name: str
    groups: tuple[GroupSize, ...]
    update_weights: bool = True
    """Whether training sends its weights to it."""


@dataclass(frozen=True, slots=True)
class ServerGroup:
    """Engines of one kind and size: where they are, and which ranks they have."""

    first_slot: int
    num_gpus: int
    num_gpus_per_engine: int
    num_gpus_per_node: int
    """GPUs that slime assumes that a node has."""

    model: str = DEFAULT_MODEL
    worker_type: str = "regular"
    first_rank: int = 0
    """In slime's own count, which leaves numbers for placeholders."""

    offload: bool = False
    """Whether its engines leave the GPU memory while training runs."""

    place: tuple[int, int] | None = None
    """Where the configuration has it."""

    @property
    def gpus_per_part(self) -> int:
        """GPUs of an engine on one node."""
        return min(self.num_gpus_per_engine, self.num_gpus_per_node)

    @property
    def parts_per_engine(self) -> int:
        """Nodes that one engine spans."""
        return max(1, self.num_gpus_per_engine // self.num_gpus_per_node)

    @property
    def ranks(self) -> int:
        """Parts of engines, one rank each; a placeholder only counts them."""
        return self.num_gpus // self.gpus_per_part

    @property
    def runs(self) -> bool:
        """Whether it starts anything."""
        return self.worker_type != "placeholder"

    @property
    def starts(self) -> range:
        """First slot of each part of an engine."""
        ranks = self.ranks if self.runs else 0
        return range(self.first_slot, self.first_slot + ranks * self.gpus_per_part, self.gpus_per_part)


def lay_out(
    models: Sequence[Model], first_slot: int, num_gpus_per_node: int, *, offload_below: int = 0
) -> tuple[ServerGroup, ...]:
    """The groups of all models from the first slot of rollout on; of each model, encoders come first.

    Groups that start below the slot `offload_below` are offloaded.
    """
    found: list[ServerGroup] = []
    slot, rank = first_slot, 0
    for model in models:
        for size in sorted(model.groups, key=lambda group: group.worker_type != "encoder"):
            group = ServerGroup(
                first_slot=slot,
                num_gpus=size.num_gpus,
                num_gpus_per_engine=size.num_gpus_per_engine,
                num_gpus_per_node=num_gpus_per_node,
                model=model.name,
                worker_type=size.worker_type,
                first_rank=rank,
                offload=slot < offload_below,
                place=size.place,
            )
            found.append(group)
            slot += group.num_gpus
            rank += group.ranks
    return tuple(found)


def prefill_and_decode(
    servers: int, rollout_num_gpus: int, engine: int, at: ProblemReporter
) -> tuple[Model, ...] | None:
    """The groups that `prefill_num_servers` makes: the rest decodes."""
    prefill = servers * engine
    if not 0 < prefill < rollout_num_gpus:
        most = (rollout_num_gpus - 1) // engine
        at.error(
            "slime_server_group_invalid",
            f"{count(servers, 'prefill server')} of {count(engine, 'GPU')} leave "
            f"{count(max(0, rollout_num_gpus - prefill), 'GPU')} of {rollout_num_gpus} for decoding"
            if servers
            else "`prefill_num_servers` is 0: a group without GPUs",
            hint=f"write a number from 1 to {most}" if most else "give rollout more GPUs, or remove the line",
        )
        return None
    sizes = GroupSize("prefill", prefill, engine), GroupSize("decode", rollout_num_gpus - prefill, engine)
    return (Model(DEFAULT_MODEL, sizes),)


class ConfigReader:
    """Reads an `sglang_config`: models and their server groups. What slime would refuse is reported."""

    def __init__(
        self,
        engine_size: Callable[[str], int],
        checkpoint: Any,
        at: ProblemReporter,
        worker_types: Sequence[str] = WORKER_TYPES,
    ) -> None:
        self._engine_size = engine_size
        self._checkpoint = checkpoint
        self._at = at
        self._worker_types = worker_types
        self._sound = True

    def models(self, config: Any, rollout_num_gpus: int) -> tuple[Model, ...] | None:
        """The models, which have all GPUs of rollout; None if something in them cannot work."""
        listed = config.get("sglang") if isinstance(config, Mapping) else None
        if not isinstance(listed, Sequence) or isinstance(listed, str):
            self._invalid("the configuration has no list `sglang` of models", "write `sglang:` and models below it")
            return None
        found = [model for index, one in enumerate(listed) if (model := self._model(one, index))]
        total = sum(group.num_gpus for model in found for group in model.groups)
        if self._sound and total != rollout_num_gpus:
            message = f"the server groups have {count(total, 'GPU')} in all, but rollout has {rollout_num_gpus}"
            self._at.error("slime_server_groups_total", message, hint=f"write `rollout_num_gpus: {total}`")
        return tuple(found) if self._sound else None

    def _invalid(self, message: str, hint: str) -> None:
        self._sound = False
        self._at.error("slime_server_group_invalid", message, hint=hint)

    def _model(self, value: Any, number: int) -> Model | None:
        if not isinstance(value, Mapping) or "name" not in value:
            self._invalid(
                f"model {number} of `sglang` has no name", "write `- name: actor`, and `server_groups` below it"
            )
            return None
        name = str(value["name"])
        listed = value.get("server_groups") or value.get("engine_groups") or ()
        if not isinstance(listed, Sequence) or isinstance(listed, str):
            self._invalid(f"`server_groups` of `{name}` is {shown(listed)}, not a list", "write a list of groups")
            return None
        engine = value.get("num_gpus_per_engine") or self._engine_size(name)
        groups = tuple(self._groups(listed, name, engine, number))
        own = value.get("model_path") or self._checkpoint
        paths = {self._path(one, own) for one in listed if isinstance(one, Mapping)} or {own}
        if len(paths) > 1:
            message = f"groups of `{name}` have different models: {listing(quoted(sorted(map(str, paths))))}"
            self._invalid(message, "one model has one path: write two models")
        update = value.get("update_weights")
        return Model(name, groups, paths == {self._checkpoint} if update is None else bool(update))

    def _path(self, group: Mapping[str, Any], own: Any) -> Any:
        """The model of a group: its own override, else that of the model."""
        overrides = group.get("overrides")
        return str(overrides["model_path"]) if isinstance(overrides, Mapping) and "model_path" in overrides else own

    def _groups(self, listed: Sequence[Any], model: str, default_engine: Any, number: int) -> Iterator[GroupSize]:
        for index, one in enumerate(listed):
            where = f"group {index} of `{model}`"
            if not isinstance(one, Mapping):
                self._invalid(f"{where} is {shown(one)}, not a mapping", "write `{worker_type: regular, num_gpus: 8}`")
                continue
            unknown = [key for key in one if key not in _GROUP_KEYS]
            missing = [key for key in _GROUP_KEYS[:2] if one.get(key) is None]
            worker_type, num_gpus = one.get("worker_type"), one.get("num_gpus")
            engine = one.get("num_gpus_per_engine")
            engine = default_engine if engine is None else engine
            if unknown:
                hint = f"a group has {listing(quoted(_GROUP_KEYS))}; arguments of SGLang go below `overrides`"
                self._invalid(f"{where} has {listing(quoted(unknown))}, which slime does not know", hint)
            elif missing:
                self._invalid(f"{where} lacks {listing(quoted(missing))}", "add it: slime requires both")
            elif not isinstance(one.get("overrides", {}), Mapping):
                self._invalid(f"{where} has {shown(one['overrides'])} as `overrides`", "write a mapping, or nothing")
            elif worker_type not in self._worker_types:
                hint = f"write one of {listing(quoted(self._worker_types))}"
                self._invalid(f"{where} is of type {shown(worker_type)}, which slime does not know", hint)
            elif type(num_gpus) is not int or num_gpus < 1:
                self._invalid(f"{where} has {shown(num_gpus)} as `num_gpus`", "write a number above 0")
            elif type(engine) is not int or engine < 1:
                self._invalid(f"{where} has engines of {shown(engine)} GPUs", "write a number above 0")
            else:
                yield GroupSize(str(worker_type), num_gpus, engine, (number, index))
