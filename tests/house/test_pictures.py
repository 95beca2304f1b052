"""The pictures of the documentation are what the program draws today."""

from __future__ import annotations

import os
import runpy
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
IMAGES = ROOT / "docs" / "images"
# Read at import: the environment of a test is emptied.
UPDATE = bool(os.environ.get("PLACETUI_UPDATE_GOLDENS"))


@pytest.mark.slow
@pytest.mark.soak
def test_pictures_are_what_the_program_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    drawn = runpy.run_path(str(ROOT / "docs" / "pictures.py"))["pictures"]()
    if UPDATE:
        for name, svg in drawn.items():
            (IMAGES / name).write_text(svg, encoding="utf-8")
    stored = {path.name: path.read_text(encoding="utf-8") for path in IMAGES.glob("*.svg")}
    assert sorted(drawn) == sorted(stored)
    old = [name for name, svg in drawn.items() if svg != stored[name]]
    assert not old, "look at what changed, then: python docs/pictures.py"


def test_every_picture_is_shown_somewhere() -> None:
    pages = [ROOT / "README.md", *(ROOT / "docs").glob("*.md")]
    text = "".join(page.read_text(encoding="utf-8") for page in pages)
    assert [path.name for path in IMAGES.glob("*.svg") if f"images/{path.name})" not in text] == []
