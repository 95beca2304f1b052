"""Miles behind the protocol of a framework: slime with other derivations."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING

from placetui.frameworks.slime.framework import Slime
from placetui.placement.config.reader import Reader

if TYPE_CHECKING:
    from placetui.frameworks.slime.layout import Derivation


class Miles(Slime):
    """A file with a `slime:` section that names `miles` as its framework."""

    name = "miles"
    title = "Miles"
    outline = ""
    only_at_head = False
    settings = MappingProxyType({"framework": "miles"})
    device_order = "text_id"
    programs = ("train.py", "train_async.py", "train_multi_lora_async.py")

    def derivation(self) -> type[Derivation]:
        from placetui.frameworks.miles.layout import MilesDerivation

        return MilesDerivation

    def matches(self, config: Reader) -> bool:
        return False


FRAMEWORK = Miles()
