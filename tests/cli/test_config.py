from __future__ import annotations

import json
from pathlib import Path

import pytest

from placetui import locations
from placetui.cli import main
from placetui.settings.config_file import OPTIONS, read_settings
from placetui.tui.actions import ACTIONS


def write(text: str) -> Path:
    file = locations.config_file()
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")
    return file


def run(*arguments: str) -> int:
    return main(["config", *arguments])


def test_path_says_where_the_file_is_even_if_it_is_not(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("path") == 0
    out, err = capsys.readouterr()
    assert out == f"{locations.config_file()}\n"
    assert "placetui config print" in err
    assert not locations.config_dir().exists()
    write("")
    assert run("path") == 0
    assert capsys.readouterr().err == ""


def test_print_is_a_complete_file_that_changes_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("print") == 0
    text = capsys.readouterr().out
    for name in [*(option.name for option in OPTIONS), "keys"]:
        assert f"\n{name}:" in f"\n{text}"
    for action in ACTIONS:
        assert f"  # {action.id}: [" in text
    write(text)
    assert run("validate") == 0
    assert run("print") == 0
    assert capsys.readouterr().out == text


def test_every_line_of_print_can_be_uncommented(capsys: pytest.CaptureFixture[str]) -> None:
    run("print")
    text = capsys.readouterr().out
    write(text.replace("\n  # ", "\n  "))
    settings, problems = read_settings(locations.config_file(), actions=[action.id for action in ACTIONS])
    assert problems == []
    assert settings.keys == {action.id: action.keys for action in ACTIONS}


def test_print_shows_what_the_user_set(capsys: pytest.CaptureFixture[str]) -> None:
    write('theme: nord\nkeys: {quit: [ctrl+q, "?"]}\n')
    assert run("print") == 0
    text = capsys.readouterr().out
    assert "\ntheme: nord\n" in text
    assert '\n  quit: [ctrl+q, "?"]  # Quit.\n' in text
    assert "# quit:" not in text


def test_print_tells_problems_aside(capsys: pytest.CaptureFixture[str]) -> None:
    file = write("density: huge\nmouse: false\n")
    assert run("print") == 1
    out, err = capsys.readouterr()
    assert "\ndensity: auto\n" in out
    assert "\nmouse: false\n" in out
    assert err.startswith(f"{file}:1:10: error[bad_option]: ")


def test_validate_is_content_with_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("validate") == 0
    out, err = capsys.readouterr()
    assert out == ""
    assert str(locations.config_file()) in err


def test_validate_tells_all_problems_of_settings_and_themes(capsys: pytest.CaptureFixture[str]) -> None:
    file = write("theme: nrod\nkeys: {qiut: q}\n")
    locations.themes_dir().mkdir()
    theme = locations.themes_dir() / "mine.yaml"
    theme.write_text("name: mine\nprimary: bleu\n")
    assert run("validate") == 1
    lines = capsys.readouterr().out.splitlines()
    assert [line.partition(": ")[0] for line in lines[::2]] == [f"{file}:1:8", f"{file}:2:8", f"{theme}:2:10"]
    assert all(line.startswith("  hint: ") for line in lines[1::2])


def test_validate_knows_the_themes_of_textual_ours_and_the_users(capsys: pytest.CaptureFixture[str]) -> None:
    locations.themes_dir().mkdir(parents=True)
    (locations.themes_dir() / "mine.yaml").write_text("name: mine\nprimary: red\n")
    for name in ("nord", "placetui-light", "mine"):
        write(f"theme: {name}\n")
        assert run("validate") == 0, name
    assert capsys.readouterr().out == ""


def test_validate_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    write("density: huge\n")
    assert run("validate", "--json") == 1
    (problem,) = json.loads(capsys.readouterr().out)["problems"]
    assert (problem["rule"], problem["line"], problem["column"]) == ("bad_option", 1, 10)


def test_an_unreadable_file_is_another_exit_code(capsys: pytest.CaptureFixture[str]) -> None:
    locations.config_file().mkdir(parents=True)
    assert run("validate") == 2
    assert "file_unreadable" in capsys.readouterr().out


def test_the_documentation_names_every_option() -> None:
    text = (Path(__file__).parents[2] / "docs" / "configuration.md").read_text(encoding="utf-8")
    for name in [*(option.name for option in OPTIONS), "keys"]:
        assert f"| `{name}` |" in text
