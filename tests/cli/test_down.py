"""`placetui down` before it talks to anybody."""

from __future__ import annotations

import pytest

from placetui.cli import main


def test_nobody_to_ask(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["down", "mine"]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert "say --yes" in err


@pytest.mark.parametrize("arguments", [[], ["mine", "--yes", "--address", "local"], ["mine", "--force"]])
def test_wrong_usage(arguments: list[str]) -> None:
    with pytest.raises(SystemExit) as done:
        main(["down", *arguments])
    assert done.value.code == 2
