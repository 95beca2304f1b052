"""How `placetui ps` shows what it is told."""

from __future__ import annotations

import io
import time
from contextlib import redirect_stdout

import pytest

from placetui.cli.commands.cluster.ps import show
from placetui.cli.lists import show_on


def job(**changes: object) -> dict[str, object]:
    groups = {"actor": {"world_size": 8, "alive": 7}, "rollout": {"world_size": 4, "alive": 4}}
    first = {"name": "mine", "file": "/conf.yaml", "state": "degraded", "created": time.time() - 125, "groups": groups}
    return {**first, **changes}


def test_a_table(capsys: pytest.CaptureFixture[str]) -> None:
    jobs = [job(owner="ml@gpu-1"), job(name="unknown", file=None, state="incomplete", created=0.0, groups={})]
    show({"address": "h:1", "jobs": jobs})
    out, err = capsys.readouterr()
    assert out.splitlines() == [
        "JOB      STATE       RANKS                   AGE    OWNER     FILE",
        "mine     degraded    actor 7/8, rollout 4/4  2 min  ml@gpu-1  /conf.yaml",
        "unknown  incomplete  ?                       ?      ?         ?",
    ]
    assert err == ""


def test_a_job_that_placetui_did_not_launch_has_its_framework_and_command_line(
    capsys: pytest.CaptureFixture[str],
) -> None:
    command = "python train.py --wandb-key ***"
    jobs = [job(), job(name="raysubmit_1", framework="slime", state="running", file=None, entrypoint=command)]
    show({"address": "h:1", "jobs": jobs})
    assert capsys.readouterr().out.splitlines() == [
        "JOB          FRAMEWORK  STATE     RANKS                   AGE    OWNER  FILE",
        "mine         -          degraded  actor 7/8, rollout 4/4  2 min  ?      /conf.yaml",
        f"raysubmit_1  slime      running   actor 7/8, rollout 4/4  2 min  ?      {command}",
    ]


def test_what_is_wrong_stands_below_the_job(capsys: pytest.CaptureFixture[str]) -> None:
    troubles = {"mine": [f"actor:{rank} dead: node lost" for rank in range(10)]}
    show({"address": "h:1", "jobs": [job()], "troubles": troubles})
    lines = capsys.readouterr().out.splitlines()
    assert lines[2:] == [*(f"  actor:{rank} dead: node lost" for rank in range(8)), "  … and 2 more"]


def test_no_jobs(capsys: pytest.CaptureFixture[str]) -> None:
    show({"address": "h:1", "jobs": []})
    assert capsys.readouterr() == ("", "no jobs on h:1\n")


class Terminal(io.StringIO):
    """A standard output that is a terminal, which holds back what is not flushed."""

    shown = ""

    def isatty(self) -> bool:
        return True

    def flush(self) -> None:
        self.shown = self.getvalue()


def test_watching_begins_each_time_on_an_empty_screen() -> None:
    with redirect_stdout(Terminal()) as terminal:
        show_on(terminal, {"address": "h:1", "jobs": []}, show, again=True)
        assert terminal.shown == "\x1b[H\x1b[2J"
        show_on(terminal, {"address": "h:1", "jobs": [job()]}, show, again=True)
    assert terminal.shown.startswith("\x1b[H\x1b[2J\x1b[H\x1b[2JJOB")
