"""How Miles derives its layout: as slime does, but for what is here."""

from __future__ import annotations

from collections.abc import Mapping

from placetui.frameworks.miles.arguments import MILES_ARGUMENTS
from placetui.frameworks.slime.arguments import Arguments, listed
from placetui.frameworks.slime.groups import EVAL_MODEL, WORKER_TYPES, GroupSize, Model
from placetui.frameworks.slime.layout import Derivation, SlimeLayout, SlimeMode, Version
from placetui.placement.problems import Problems
from placetui.placement.wording import count, listing, quoted

_CORRECTIONS = ("use_rollout_logprobs", "use_tis", "keep_old_actor")
"""One of them makes up for rollouts of an older critic."""


class MilesDerivation(Derivation):
    """What Miles makes of its arguments before it places anything."""

    table = MILES_ARGUMENTS
    orders_ids_as_text = True
    no_critic_without_training = False
    worker_types = tuple(one for one in WORKER_TYPES if one != "encoder")

    def __init__(self, args: Arguments, version: Version, problems: Problems) -> None:
        super().__init__(args, "head", problems)
        self._eval_gpus: int = args["eval_num_gpus"]

    def derive(self) -> None:
        super().derive()
        args, now = self._args, self._now
        now["rollout_external"] = args["rollout_external"]
        now["use_critic"] = args["advantage_estimator"] == "ppo"
        if args["colocate"] and not (args["debug_rollout_only"] and args["rollout_num_gpus"]):
            sizes = ("actor_num_nodes", "actor_num_gpus_per_node")
            now |= {name: args[name] for name in sizes}
            now["rollout_num_gpus"] = args["actor_num_nodes"] * args["actor_num_gpus_per_node"]

    def drop_old_arguments(self) -> None:
        """The critic's sizes are accepted, and overwritten with the actor's."""

    def slots(self, mode: SlimeMode, actor: int, rollout: int) -> tuple[int, int]:
        if mode == "separate":
            return actor + rollout + self._eval_gpus, actor
        return (0, 0) if mode == "external_rollout_only" else super().slots(mode, actor, rollout)

    def models(self, mode: SlimeMode, rollout: int) -> tuple[Model, ...]:
        if mode != "separate":
            return super().models(mode, rollout)
        config = isinstance(self._now["sglang_config"], Mapping)
        at = self._problems.at(self._args.path("sglang_config", "rollout_num_gpus"), component="rollout")
        found = super().models(mode, rollout + self._eval_gpus if config else rollout)
        if not rollout and not config:
            at.error(
                "slime_server_group_invalid",
                "rollout has no GPUs, and Miles has no group without any",
                hint="write `rollout_num_gpus: 8`, or another number above 0",
            )
        if not self._eval_gpus:
            return found
        if not config:
            engines = GroupSize("regular", self._eval_gpus, self._args["eval_num_gpus_per_engine"])
            return (*found, Model(EVAL_MODEL, (engines,), update_weights=False))
        sizes = [sum(group.num_gpus for group in model.groups) for model in found if model.name == EVAL_MODEL]
        if found and sizes != [self._eval_gpus]:
            at.error(
                "miles_eval_engines",
                f"the server groups have no model `{EVAL_MODEL}` of {count(self._eval_gpus, 'GPU')}",
                hint=f"name one model `{EVAL_MODEL}`, and give its groups all GPUs of `eval_num_gpus`",
            )
        return tuple(Model(one.name, one.groups, one.update_weights and one.name != EVAL_MODEL) for one in found)

    def cells(self, actor: int) -> int:
        args = self._args
        has_cells = args["indep_dp"] or (args["use_fault_tolerance"] and "train" in listed(args["ft_components"]))
        return actor // self.model_ranks if has_cells and args["experimental_ft_trainer"] else 1

    def engine_size(self, model: str) -> int:
        return int(self._args["eval_num_gpus_per_engine"]) if model == EVAL_MODEL else super().engine_size(model)

    def check_training(self, layout: SlimeLayout) -> None:
        super().check_training(layout)
        args = self._args
        self._check_cells(layout)
        if layout.critic and args["train_async"] and not any(args[name] for name in _CORRECTIONS):
            self._problems.at(args.path("train_async"), component="critic").error(
                "miles_async_critic",
                "asynchronous training with a critic needs a correction for rollouts of an older one",
                hint=f"write one of {listing(quoted(f'{name}: true' for name in _CORRECTIONS))}",
            )

    def _check_cells(self, layout: SlimeLayout) -> None:
        args, copy = self._args, self.model_ranks
        at = self._problems.at(args.path("indep_dp", "ft_components", "experimental_ft_trainer"), component="actor")
        if args["indep_dp"] and copy > layout.actor_gpus > 0:
            at.error(
                "miles_cells",
                f"a cell takes {count(copy, 'GPU')} (tensor x pipeline x context), and training has "
                f"{layout.actor_gpus}: there is no cell",
                hint=f"give training {count(copy, 'GPU')} or more, or lower one of the three sizes",
            )
        elif layout.cells and layout.actor_gpus % layout.cells:
            message = f"{count(layout.actor_gpus, 'training GPU')} do not divide into {layout.cells} cells"
            at.error("miles_cells", message, hint=f"give training a multiple of {count(copy, 'GPU')}")
        if layout.critic and args["experimental_ft_trainer"]:
            message = "`experimental_ft_trainer` does not work with a critic"
            at.error("miles_cells", message, hint="unset MILES_EXPERIMENTAL_FT_TRAINER, or train without a critic")

    def check_rollout(self, layout: SlimeLayout) -> None:
        super().check_rollout(layout)
        args = self._args
        if layout.mode.startswith("external"):
            self._problems.at(args.path("rollout_external"), component="rollout").error(
                "miles_external",
                "external engines make Miles fail: it looks for slots that they do not have",
                hint="let Miles start the engines: `rollout_num_gpus` instead of `rollout_external`",
            )
        if self._eval_gpus:
            self._check_eval(layout)

    def _check_eval(self, layout: SlimeLayout) -> None:
        args, engine = self._args, self._args["eval_num_gpus_per_engine"]
        at = self._problems.at(args.path("eval_num_gpus"), component="rollout")
        if layout.mode != "separate":
            message = f"`{args.key('eval_num_gpus')}` needs GPUs of its own: not with colocate, external or debug modes"
            at.error("miles_eval_engines", message, hint="remove it, or separate rollout from training")
        elif self._eval_gpus % engine:
            message = f"{count(self._eval_gpus, 'GPU')} for evaluation do not divide into engines of {engine}"
            at.error("miles_eval_engines", message, hint=f"write a multiple of {engine} as `eval_num_gpus`")
        save = args["save_interval"]
        if (
            args["eval_hf_dir"] is None
            and args["eval_interval"] is not None
            and (not save or args["eval_interval"] % save)
        ):
            message = "without `eval_hf_dir`, `eval_interval` must be a multiple of `save_interval`"
            at.warning("miles_eval_snapshots", message, hint="add `eval_hf_dir`, or write such a `save_interval`")
        if args["eval_interval"] is None or (args["eval_hf_dir"] is None and args["save_hf"] is None):
            message = "engines that evaluate need `eval_interval`, and `eval_hf_dir` or `save_hf`"
            at.error("miles_eval_engines", message, hint="add them, or remove `eval_num_gpus`")
