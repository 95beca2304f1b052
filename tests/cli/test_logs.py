"""`placetui logs` before it talks to anybody, and how it shows what it is told."""

from __future__ import annotations

import pytest

from placetui.cli import main
from placetui.cli.logs import _show


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["job"],
        ["job", "actor"],
        ["job", "actor:x"],
        ["job", ":3"],
        ["job", "actor:3", "-n", "-1"],
        ["job", "actor:3", "--address", "local"],
    ],
)
def test_wrong_usage(arguments: list[str]) -> None:
    with pytest.raises(SystemExit) as done:
        main(["logs", *arguments])
    assert done.value.code == 2


def test_lines_are_data_and_the_state_is_narration(capsys: pytest.CaptureFixture[str]) -> None:
    _show({"step": "lines", "stream": "err", "lines": ["one", "[two]"]})
    _show({"step": "rank", "component": "actor", "rank": 3, "state": "dead", "reason": "node lost"})
    _show({"step": "rank", "component": "actor", "rank": 3, "state": "alive", "reason": None})
    assert capsys.readouterr() == ("one\n[two]\n", "actor:3 is dead: node lost\nactor:3 is alive\n")
