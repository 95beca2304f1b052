"""The drawing in docs/architecture.md is what the imports are held to. PLACETUI_UPDATE_GOLDENS=1 draws it anew."""

from __future__ import annotations

import os
import re
from pathlib import Path

from tests.house.test_imports import CONTRACT, PACKAGE

DOCUMENT = Path(__file__).parents[2] / "docs" / "architecture.md"
# Read at import: the environment of a test is emptied.
UPDATE = bool(os.environ.get("PLACETUI_UPDATE_GOLDENS"))
DRAWING = re.compile(r"(?<=^```mermaid\ngraph TD\n)(.*?)(?=^```$)", re.MULTILINE | re.DOTALL)


def drawn() -> str:
    """An arrow for each line of the contract between two packages."""
    packages = [part for part in CONTRACT if (PACKAGE / part).is_dir()]
    arrows = [f"  {part} --> {known}\n" for part in packages for known in packages if known in CONTRACT[part].parts]
    return "".join(reversed(arrows))


def test_the_drawing_is_the_contract() -> None:
    wanted = drawn()
    text = DOCUMENT.read_text(encoding="utf-8")
    if UPDATE:
        DOCUMENT.write_text(DRAWING.sub(lambda _: wanted, text), encoding="utf-8")
        return
    found = DRAWING.search(text)
    assert found is not None
    assert found[1] == wanted


def test_every_package_has_its_row() -> None:
    rows = re.findall(r"^\| `(\w+)` \|", DOCUMENT.read_text(encoding="utf-8"), re.MULTILINE)
    assert set(rows) == {part for part in CONTRACT if (PACKAGE / part).is_dir()}
