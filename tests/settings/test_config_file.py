from __future__ import annotations

import os
from dataclasses import fields
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from placetui.grid import DENSITIES
from placetui.placement.problems import Problem
from placetui.settings.config_file import OPTIONS, THRESHOLDS, AppSettings, commented, read_settings
from placetui.settings.keys import NAMED, SIGNS, read_key

ROLES_HINT = 'write for example `roles: {actor: "#74b6fe", rollout: L, reward: "P #d066b7"}`'
ACTIONS = ("quit", "find", "zoom_in", "help")


def read(tmp_path: Path, text: str) -> tuple[AppSettings, list[Problem]]:
    file = tmp_path / "config.yaml"
    file.write_text(text, encoding="utf-8")
    return read_settings(file, actions=ACTIONS, themes=["placetui-dark", "nord"])


def places(problems: list[Problem]) -> list[tuple[int | None, int | None, str]]:
    return [(problem.line, problem.column, problem.rule) for problem in problems]


def test_no_file_sets_nothing(tmp_path: Path) -> None:
    assert read_settings(tmp_path / "config.yaml") == (AppSettings(), [])


@pytest.mark.parametrize("text", ["", "# nothing\n", "{}\n", "keys:\n"])
def test_an_empty_file_changes_nothing(text: str, tmp_path: Path) -> None:
    settings, problems = read(tmp_path, text)
    assert problems == []
    assert AppSettings(given=settings.given) == settings


def test_every_option_can_be_set(tmp_path: Path) -> None:
    settings, problems = read(
        tmp_path,
        "theme: nord\ndensity: heat\nascii: true\nmotion: false\nmouse: false\ninterval: 2.5\n"
        "alerts: {memory_above: 95, load_below: 5.5, temperature_above: false}\n"
        'roles: {actor: "#FF0000", rollout: l, reward: "P #00FF00"}\n'
        'keys:\n  quit: [q, ctrl+q]\n  find: "?"\n  zoom_in: 3\n  help: ","\n',
    )
    assert problems == []
    keys = {"quit": "q,ctrl+q", "find": "?", "zoom_in": "3", "help": "comma"}
    names = {"theme", "density", "ascii", "motion", "mouse", "interval", "alerts", "roles", "keys"}
    alerts = {"memory_above": 95.0, "load_below": 5.5}
    assert settings == AppSettings(
        "nord",
        "heat",
        True,
        False,
        2.5,
        keys,
        frozenset(names),
        alerts,
        {"actor": "#ff0000", "rollout": "L", "reward": "P #00ff00"},
        motion=False,
    )
    assert settings.role_letters == {"rollout": "L", "reward": "P"}
    assert settings.role_colors == {"actor": "#ff0000", "reward": "#00ff00"}


@pytest.mark.parametrize(("text", "value"), [("auto", None), ("true", True), ("no", False)])
def test_ascii_has_three_values(text: str, value: bool | None, tmp_path: Path) -> None:
    settings, problems = read(tmp_path, f"ascii: {text}\n")
    assert (settings.ascii, problems) == (value, [])


@pytest.mark.parametrize(
    ("line", "column", "hint"),
    [
        ("theme: nrod", 8, "did you mean `nord`?"),
        ("theme: 3", 8, "write a name such as placetui-dark or nord"),
        ("theme:", 7, "write a name such as placetui-dark or nord"),
        ("roles: {actr: '#ff0000'}", 8, "did you mean `actor`?"),
        ("roles: {actor: red}", 8, f"put colours in quotes: {ROLES_HINT}"),
        ("roles: {actor: ''}", 8, f"put colours in quotes: {ROLES_HINT}"),
        ("roles: {actor: 7}", 8, f"put colours in quotes: {ROLES_HINT}"),
        ("roles: {actor: T, ref: t}", 8, "choose another letter"),
        ("density: fulll", 10, "write auto, card, tile, small, letters or heat"),
        ("ascii: maybe", 8, "write auto, true or false"),
        ("mouse: 1", 8, "write true or false"),
        ("interval: fast", 11, "write a number from 0.1 to 3600"),
        ("interval: 0", 11, "write a number from 0.1 to 3600"),
        ("interval: .nan", 11, "write a number from 0.1 to 3600"),
        ("interval: true", 11, "write a number from 0.1 to 3600"),
        ("alerts: 95", 9, "write for example `alerts: {memory_above: 95, temperature_above: 85}`"),
        ("alerts: {memory: 95}", 9, "did you mean `memory_above`?"),
        ("alerts: {load_below: lots}", 9, "write for example `alerts: {memory_above: 95, temperature_above: 85}`"),
        ("alerts: {memory_above: 101}", 9, "write for example `alerts: {memory_above: 95, temperature_above: 85}`"),
        ("keys: [q]", 7, "write for example `keys: {quit: [q, ctrl+q]}`"),
        ("keys: {quit: []}", 14, "name at least one key"),
        ("keys: {quit: ~}", 14, 'put a sign in quotes: "~"'),
        ("keys: {quit: [q, entr]}", 18, "did you mean `enter`?"),
        ("keys: {quit: Ctrl+Q}", 14, "only ctrl, shift, alt, super, hyper or meta can stand before a `+`: `ctrl+q`"),
        (
            "keys: {quit: ctrl+shft+x}",
            14,
            "only ctrl, shift, alt, super, hyper or meta can stand before a `+`: `ctrl+shift+x`",
        ),
        ("keys: {quit: x, find: x}", 23, "choose another"),
        ('keys: {quit: "?", find: question_mark}', 25, "choose another"),
    ],
)
def test_a_wrong_value_is_a_problem_and_the_default_is_used(line: str, column: int, hint: str, tmp_path: Path) -> None:
    settings, problems = read(tmp_path, f"# mine\n{line}\n")
    assert places(problems) == [(2, column, "bad_option")]
    assert problems[0].hint == hint
    assert problems[0].file == str(tmp_path / "config.yaml")
    name = line.partition(":")[0]
    if name != "keys":
        assert settings == AppSettings()


@pytest.mark.parametrize(
    ("text", "column", "hint"),
    [
        ("densty: full", 1, "did you mean `density`?"),
        ("colour: red", 1, "the options are theme, density, ascii, motion, mouse, interval, alerts, roles and keys"),
        ("keys: {qit: q}", 8, "did you mean `quit`?"),
        ("keys: {fly: q}", 8, "`placetui config print` lists all actions"),
    ],
)
def test_an_unknown_name_is_a_problem_at_its_key(text: str, column: int, hint: str, tmp_path: Path) -> None:
    _, problems = read(tmp_path, f"{text}\n")
    assert places(problems) == [(1, column, "unknown_option")]
    assert problems[0].hint == hint


def test_one_bad_key_leaves_the_others(tmp_path: Path) -> None:
    settings, problems = read(tmp_path, "keys: {quit: [q, entr], find: [slash]}\n")
    assert len(problems) == 1
    assert settings.keys == {"quit": "q", "find": "slash"}


def test_broken_yaml_is_a_problem_with_its_line(tmp_path: Path) -> None:
    settings, problems = read(tmp_path, "theme: nord\nkeys: [\n")
    assert settings == AppSettings()
    assert [problem.rule for problem in problems] == ["yaml_syntax"]


def test_what_is_no_file_is_a_problem(tmp_path: Path) -> None:
    settings, problems = read_settings(tmp_path)
    assert settings == AppSettings()
    assert [problem.rule for problem in problems] == ["file_unreadable"]


YAML_LIKE = st.text(alphabet=st.sampled_from("themdnsiyauok: \n-[]{}\"'#&*!|>?,.019~%"), max_size=60)


@given(st.binary(max_size=60) | YAML_LIKE.map(str.encode))
def test_reading_never_raises(tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    file = tmp_path_factory.getbasetemp() / "any.yaml"
    file.write_bytes(data)
    settings, problems = read_settings(file, actions=ACTIONS)
    assert settings.density in (None, *DENSITIES)
    assert all(problem.hint or problem.rule.startswith(("yaml", "file", "duplicate")) for problem in problems)


KEYS = st.sampled_from(sorted({*NAMED, *"aZ09é", *SIGNS} - {",", "comma"}))
SETTINGS = st.builds(
    AppSettings,
    theme=st.sampled_from(["placetui-dark", "nord", "no", "3", "true", "über"]),
    density=st.sampled_from((None, *DENSITIES)),
    ascii=st.sampled_from([None, True, False]),
    mouse=st.booleans(),
    interval=st.integers(1, 36_000).map(lambda tenths: tenths / 10),
    keys=st.lists(
        st.tuples(st.sampled_from(ACTIONS), KEYS), max_size=4, unique_by=(lambda p: p[0], lambda p: read_key(p[1]))
    ).map(dict),
    alerts=st.dictionaries(st.sampled_from(sorted(THRESHOLDS)), st.integers(0, 1000).map(lambda tenths: tenths / 10)),
)


@given(SETTINGS)
def test_what_is_printed_reads_back(tmp_path_factory: pytest.TempPathFactory, settings: AppSettings) -> None:
    signs = [SIGNS.get(key, key) for key in settings.keys.values()]
    file = tmp_path_factory.getbasetemp() / "printed.yaml"
    file.write_text(commented(settings, {"quit": ("q", "Leave."), "find": ("slash", "Find: all.")}), encoding="utf-8")
    found, problems = read_settings(file, actions=ACTIONS)
    if len(set(signs)) == len(signs):
        assert problems == []
        names = frozenset({option.name for option in OPTIONS} | {"keys"})
        assert found == AppSettings(
            settings.theme,
            settings.density,
            settings.ascii,
            settings.mouse,
            settings.interval,
            settings.keys,
            names,
            settings.alerts,
        )


def test_every_setting_is_an_option_with_an_explanation() -> None:
    assert {option.name for option in OPTIONS} | {"keys", "given"} == {one.name for one in fields(AppSettings)}
    paragraphs = commented(AppSettings()).split("\n\n")
    for option, paragraph in zip(OPTIONS, paragraphs, strict=False):
        *explanation, setting = paragraph.splitlines()
        assert setting.startswith(f"{option.name}: ")
        assert explanation
        assert all(line.startswith("# ") for line in explanation)


@pytest.mark.skipif(os.geteuid() == 0, reason="permissions do not stop a superuser")
def test_a_file_one_may_not_read_is_a_problem(tmp_path: Path) -> None:
    file = tmp_path / "config.yaml"
    file.write_text("theme: nord\n")
    file.chmod(0)
    assert [problem.rule for problem in read_settings(file)[1]] == ["file_unreadable"]
