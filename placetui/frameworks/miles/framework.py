"""Miles behind the protocol of a framework: slime with other derivations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from placetui.frameworks.base import PlanOptions
from placetui.frameworks.slime.framework import Slime
from placetui.placement.config.reader import Reader
from placetui.placement.plan import Plan
from placetui.placement.problems import Problems

if TYPE_CHECKING:
    from placetui.frameworks.new_job import ImportedFile, ScriptContext
    from placetui.placement.edits import Edit, Operation


class Miles(Slime):
    """A file with a `slime:` section that names `miles` as its framework."""

    name = "miles"
    title = "Miles"
    outline = ""
    only_at_head = False
    settings = MappingProxyType({"framework": "miles"})
    device_order = "text_id"
    programs = ("train.py", "train_async.py", "train_multi_lora_async.py")

    def matches(self, config: Reader) -> bool:
        return False

    def plan(self, config: Reader, options: PlanOptions, problems: Problems) -> Plan:
        from placetui.frameworks.miles.layout import MilesDerivation
        from placetui.frameworks.slime.plan import plan_slime

        return plan_slime(config, options, problems, self.name, MilesDerivation)

    def edit(self, plan: Plan, operation: Operation, config: Mapping[str, Any]) -> Edit:
        from placetui.frameworks.miles.layout import MilesDerivation
        from placetui.frameworks.slime.edit import SlimeEditor

        return SlimeEditor(plan, config, MilesDerivation).edit(operation)

    def from_command(self, words: Sequence[str], context: ScriptContext | None = None) -> ImportedFile:
        from placetui.frameworks.miles.arguments import MILES_ARGUMENTS
        from placetui.frameworks.slime.command import import_command

        return import_command(words, MILES_ARGUMENTS, context, self.settings)


FRAMEWORK = Miles()
