"""How the documentation and the interface read: page sizes, one term per thing, phrases that nobody would say."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from placetui.cli.parser import COMMANDS

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]

SOURCES = sorted((ROOT / "placetui").rglob("*.py"))

REFERENCES = frozenset({"file-format.md", "json.md", "keys.md", "rules.md"})
LONGEST = 1500
"""Words of a page that is not a reference."""

TERMS = (
    "node device component rank share plan live drift event reserved assigned used packed flexible collocated "
    "disaggregated hybrid"
).split()

PHRASES = (
    r"is looked at",
    r"looked at",
    r"waits? no longer",
    r"what lacks",
    r"is lacking",
    r"are lacking",
    r"(is|are) told",
    r"is said (at once|by)",
    r"stands? out",
    r"without end",
    r"without a word",
    r"in silence",
    r"the other end",
    r"a minute or a few",
    r"for programs",
    r"Ray['’]s books",
    r"Ray books",
    r"whoever",
    r"taken back",
    r"let go of",
    r"how far it is",
    r"for ever",
    r"node\d+ GPU \d",
)
"""Mannered or translated; docs/glossary.md and common English have better ones."""


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_a_page_can_be_read_in_one_sitting(page: Path) -> None:
    if page.name not in REFERENCES:
        assert len(page.read_text(encoding="utf-8").split()) <= LONGEST


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_pages_have_no_mannered_phrases(page: Path) -> None:
    assert found_in(page.read_text(encoding="utf-8")) == []


def test_the_source_has_no_mannered_phrases() -> None:
    """Comments, docstrings and messages alike."""
    found = {str(path.relative_to(ROOT)): found_in(path.read_text(encoding="utf-8")) for path in SOURCES}
    assert {path: phrases for path, phrases in found.items() if phrases} == {}


def test_the_glossary_defines_every_term() -> None:
    text = (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8")
    defined = " ".join(re.findall(r"^\*\*(.+?)\*\*", text, re.MULTILINE)).lower()
    assert [term for term in TERMS if not re.search(rf"\b{term}\b", defined)] == []


def test_the_index_links_every_page() -> None:
    linked = re.findall(r"\]\(([\w-]+\.md)\)", (ROOT / "docs" / "README.md").read_text(encoding="utf-8"))
    assert set(linked) == {path.name for path in (ROOT / "docs").glob("*.md") if path.name != "README.md"}


def test_the_reference_lists_every_command() -> None:
    text = (ROOT / "docs" / "commands.md").read_text(encoding="utf-8")
    assert set(re.findall(r"^\| `placetui ([a-z-]+)", text, re.MULTILINE)) == set(COMMANDS)


def found_in(text: str) -> list[str]:
    lowered = " ".join(text.split())
    return [phrase for phrase in PHRASES if re.search(rf"\b{phrase}\b", lowered, re.IGNORECASE)]
