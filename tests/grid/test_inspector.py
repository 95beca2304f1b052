"""What the inspector says about a device, in the words and widths that people see."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from textwrap import dedent

import pytest
from hypothesis import given
from hypothesis import strategies as st

import placetui
from placetui.grid import Place, cell_width, plain
from placetui.grid.inspector.inspect import COMPACT, Inspection, inspect
from placetui.observe.alerts import Alert
from placetui.observe.drift import Drift
from placetui.observe.events import Event
from placetui.observe.history import DeviceHistory
from placetui.observe.model import DeviceSample, JobSummary, NodeSample, Observation, ProcessSample, RankState
from placetui.placement.plan import GPU, NODE, Plan, RankOfEngine, Rule, Service
from placetui.placement.problems import Path
from placetui.placement.ranks import parse_rule
from placetui.resources import folder

Build = Callable[..., Plan]
GIB = 1 << 30


def locate(path: Path) -> tuple[int, int] | None:
    return {"actor": (6, 5), "rollout": (7, 5)}.get(str(path[-1]))


detailed = partial(inspect, details=True)


def shown(inspection: Inspection) -> str:
    return "\n".join(plain(line).rstrip() for line in inspection.lines) + "\n"


def text(picture: str) -> str:
    return dedent(picture).lstrip("\n")


def test_a_shared_gpu(two_nodes: Plan) -> None:
    found = detailed(two_nodes, Place(0, GPU, 2), locate=locate, width=110)
    lines = shown(found).splitlines()
    assert lines[0] == "node0 · GPU 2   NV_GPU   share 1.0 of 1.0   10.0.0.1   group a800"
    assert "\n".join(lines[6:]) + "\n" == text(
        """
                           A actor 2   R rollout 1
        place              GPU 2       GPUs 2,3
        rank               2 of 16     1 of 8
        local rank         0 of 1      0 of 1
        node rank          0           0
        cluster node       0           0
        first accelerator  2           2
        visible            2           2,3
        isolated           yes         yes
        node group         cluster     cluster
        accelerator        NV_GPU      NV_GPU
        """
    )
    actor, rollout = (two_nodes.components[name].rule.path for name in ("actor", "rollout"))
    assert found.targets == [(3, actor), (4, rollout)]
    assert found.target(4) == rollout
    assert found.target() == actor, "Enter on the device itself leads to the first rule"


def test_what_does_not_fit_beside_each_other_stands_below(two_nodes: Plan) -> None:
    lines = shown(detailed(two_nodes, Place(0, GPU, 3), locate=locate, width=32)).splitlines()
    assert max(map(len, lines)) <= 32
    assert [line.split() for line in lines if line.startswith("local rank")] == [["local", "rank", "0", "of", "1"]] * 2


def test_devices_that_are_free_absent_or_promised_twice(make_plan: Build) -> None:
    plan = make_plan([2], {"a": ("0", 7000, [(0, [0])]), "b": ("0", 7000, [(0, [0])])}, ips=False)

    def title(place: Place) -> str:
        return plain(detailed(plan, place, locate=locate, width=90).lines[0]).rstrip()

    assert title(Place(0, GPU, 0)) == "node0 · GPU 0   NV_GPU   share 1.40 of 1.0, oversubscribed"
    assert title(Place(0, GPU, 1)) == "node0 · GPU 1   NV_GPU   free"
    assert title(Place(0, GPU, 2)) == "node0 has no GPU 2: it has 2"
    assert title(Place(0, "franka", 0)) == "node0 has no franka 0: it has none"
    assert title(Place(3, GPU, 0)) == "there is no node 3: the plan has 1 node"
    assert title(Place(0, NODE, 0)) == "node0 · the node itself   2 GPUs   unused"
    assert detailed(plan, Place(3, GPU, 0), locate=locate, width=90).target() is None


def test_crowds_are_counted_by_component(make_plan: Build) -> None:
    plan = make_plan(
        [1],
        {"agent": ("0:0-99", 50, [(0, [0])] * 100), "env": ("0:0-11", None, [(0, [])] * 12)},
        services=[Service("router", 0, 1.0)],
    )
    dead = Observation(
        0.0,
        "ray",
        (NodeSample(0, "node0"),),
        {"agent": tuple(RankState("agent", rank, "dead" if rank == 7 else "alive") for rank in range(100))},
    )
    crowd = shown(detailed(plan, Place(0, GPU, 0), locate=locate, width=120, observation=dead))
    assert re.search(r"G  agent 0-99 ×100 +<\.01 +✗ 1 dead 99 alive +", crowd)
    assert re.search(r"ranks in all +100", crowd)
    services = shown(detailed(plan, Place(0, NODE, 0), locate=locate, width=120))
    assert "E  env 0-11 ×12" in services
    assert services.endswith("▫ router 1 CPU started by the framework\n")


def test_the_reason_names_the_segment_and_the_sizes(make_plan: Build) -> None:
    plan = make_plan([4], {"rollout": ("0-1:0,2-3:1", 10000, [(0, [0, 1]), (0, [2, 3])])}, ips=False)
    component = plan.components["rollout"]
    rule = component.rule._replace(segments=tuple(parse_rule(component.rule.text, 4)))
    with_segments = replace(plan, components={"rollout": replace(component, rule=rule)})
    split = shown(detailed(with_segments, Place(0, GPU, 2), locate=locate, width=120))
    assert re.search(r"rollout: 0-1:0,2-3:1 +7\n", split)
    assert re.search(r"part of the rule +2-3:1", split)
    engines = replace(
        component,
        rule=Rule("4 GPUs, 4 per engine", ("slime", "rollout"), keys=("rollout",)),
        strategy="packed",
        engines=(RankOfEngine(0, 0, 2), RankOfEngine(0, 1, 2)),
        reasons=("colocate: rollout starts at slot 0 and shares the actor's GPUs",),
    )
    slime = replace(plan, mode="slime", components={"rollout": engines})
    found = shown(detailed(slime, Place(0, GPU, 2), locate=locate, width=60))
    assert re.search(r"engine +0\n", found)
    assert re.search(r"engine part +1 of 2\n", found)
    assert "R rollout 1  colocate: rollout starts at slot 0 and shares\n  the actor's GPUs\n" in found


def watched(*, stale: bool = False) -> tuple[Observation, DeviceHistory]:
    history = DeviceHistory(6, 10.0)
    observation = Observation(0.0, "simulated")
    for step in range(4):
        device = DeviceSample(
            2,
            name="NVIDIA A800-SXM4-80GB",
            memory_used=20 * (step + 1) * GIB,
            memory_total=80 * GIB,
            utilization=10 * step,
            temperature=61,
            power=320,
            processes=(
                ProcessSample(11, 10 * GIB, "rollout", 1, "job", kind="rank"),
                ProcessSample(10, 48 * GIB, "actor", 2, "job", kind="rank"),
                ProcessSample(12, 2 * GIB, job="other", actor="Judge", kind="actor"),
                ProcessSample(13, None),
                ProcessSample(14, GIB // 2, kind="gone"),
            ),
        )
        devices = (DeviceSample(0), DeviceSample(1), device)
        node = NodeSample(
            0, "node0", age=12.0 * stale, stale=stale, devices=devices, cpu_percent=34.4, memory_used=700 * GIB
        )
        ranks = {
            "actor": tuple(RankState("actor", rank, "alive", pid=10) for rank in range(16)),
            "rollout": tuple(RankState("rollout", rank, "dead", "killed by signal 9", 2) for rank in range(8)),
        }
        observation = Observation(1000.0 + 10 * step, "simulated", (node,), ranks)
        history.record(observation, [0])
    return observation, history


def test_a_gpu_that_is_watched(two_nodes: Plan) -> None:
    """Its details have the meters and graphs of the inspector, and every process is a row."""
    observation, history = watched()
    look = partial(detailed, two_nodes, Place(0, GPU, 2), locate=locate, width=112, observation=observation)
    found = shown(look(history=history))
    assert re.search(r"memory █+ 80\.0 of 80 GiB  100% +load +█+.* 30%  61°  320 W\n", found)
    assert found.count("100%") == 3, "the axes of two graphs, and the memory in use"
    assert "node   CPU 34% · RAM 700 GiB\n" in found
    for row in ("A  actor 2", "R  rollout 1", "Judge of job other", "gone"):
        assert row in found
    hour = DeviceHistory(60, 60.0)
    hour.record(observation, [0])
    assert shown(look(history=history, hour=hour)) == found, "one value is no history"


def test_a_watched_gpu_in_ascii_and_gone_silent(two_nodes: Plan) -> None:
    observation, _ = watched(stale=True)
    found = shown(detailed(two_nodes, Place(0, GPU, 2), locate=locate, width=60, observation=observation, ascii=True))
    assert found.isascii()
    assert re.search(r"memory +#+ +80\.0 of 80 GiB  100%", found)
    assert "node   stale, read 12 s ago, CPU 34%, RAM 700 GiB\n" in found


def test_how_long_a_rank_is_dead_is_said_where_it_was_seen_to_die(two_nodes: Plan) -> None:
    observation, _ = watched()
    died = Event(observation.time - 14, "rank_died", 0, None, "rollout", 1)
    look = partial(inspect, two_nodes, Place(0, GPU, 2), locate=locate, width=100, observation=observation)
    assert "✗ dead 14 s " in shown(look(events=[died]))
    assert "✗ dead  " in shown(look(events=[replace(died, rank=3)]))


def test_a_rule_is_whole_and_the_table_as_wide_as_the_panel(two_nodes: Plan) -> None:
    observation, _ = watched()
    for width in (88, 118, 200):
        found = inspect(two_nodes, Place(0, GPU, 2), locate=locate, width=width, observation=observation)
        dead = next(plain(line) for line in found.lines if "R  rollout" in plain(line))
        assert dead.endswith(" 7")
        assert len(dead) == width
        assert "rollout: 0-15:0-7 " in dead


def test_compact_is_four_lines_at_most(two_nodes: Plan) -> None:
    observation, _ = watched()
    found = inspect(two_nodes, Place(0, GPU, 2), locate=locate, width=80, observation=observation, compact=True)
    title, actor, rollout, why = shown(found).splitlines()
    assert title == "node0 · GPU 2 · share 1.0 of 1.0 · 80.0/80 GiB · load 30% · simulated"
    assert actor.split()[:6] == ["A", "actor", "2", ".80", "·", "alive"]
    assert "✗ dead" in rollout
    assert "killed by signal 9" in why
    assert [line for line, _ in found.targets] == [1, 2, 3]


def test_what_has_a_row_needs_no_notice(two_nodes: Plan) -> None:
    observation, history = watched()
    dead = Drift("dead_rank", "rollout 1 is dead: killed by signal 9", "rollout", 1, 0, 2)
    foreign = Drift("foreign_process", "Judge of job other (pid 12) is on node0/gpu2", None, None, 0, 2, 12)
    elsewhere = replace(foreign, message="python (pid 99) is on node0/gpu2", pid=99)
    full = Alert("memory_above", "memory 100% is above 98%", 0, 2)
    look = partial(
        inspect, two_nodes, Place(0, GPU, 2), locate=locate, width=80, observation=observation, history=history
    )
    for compact in (False, True):
        only = shown(look(compact=compact, heading=False, notices=[dead, foreign]))
        assert only.count("dead") == only.count("signal 9" if not compact else "dead") == 1
        assert "pid 12" not in only
        assert "Judge" in only or compact
    both = shown(look(compact=True, heading=False, notices=[dead, full, elsewhere]))
    assert both.startswith("▲ memory 100% is above 98% (and 1 more)")
    assert shown(look(heading=False, notices=[elsewhere])).startswith("≠ python (pid 99) is on node0/gpu2")


def test_a_foreign_process_has_a_row_in_a_compact_inspection(two_nodes: Plan) -> None:
    foreign = ProcessSample(31877, 6 * GIB, user="eve", command="python eval.py")
    sample = DeviceSample(0, memory_used=7 * GIB, memory_total=80 * GIB, utilization=5, processes=(foreign,))
    observation = Observation(0.0, "ray", (NodeSample(0, "node0", devices=(sample,)),))
    notice = Drift("foreign_process", "python eval.py of eve is on node0/gpu0", None, None, 0, 0, 31877)
    look = partial(inspect, two_nodes, Place(0, GPU, 0), locate=locate, width=80, observation=observation)
    found = look(compact=True, heading=False, notices=[notice])
    assert re.search(r"\?  python eval\.py +\? foreign .*6\.0G +31877 +user eve", shown(found))


def test_of_more_ranks_than_fit_the_dead_ones_are_shown(make_plan: Build) -> None:
    plan = make_plan([1], {name: ("0", 1000, [(0, [0])]) for name in "abcde"})
    ranks = {name: (RankState(name, 0, "dead" if name == "e" else "alive", "killed"),) for name in "abcde"}
    observation = Observation(0.0, "ray", (NodeSample(0, "node0", devices=(DeviceSample(0),)),), ranks)
    found = inspect(
        plan, Place(0, GPU, 0), locate=locate, width=80, observation=observation, compact=True, heading=False
    )
    assert [plain(line).split()[1] for line in found.lines] == ["e", "a", "b", "2"]


def test_a_rank_that_the_plan_has_elsewhere_is_a_row_like_the_others(two_nodes: Plan) -> None:
    there = (
        ProcessSample(10, 48 * GIB, "actor", 2, "job", "job/actor:2", "rank"),
        ProcessSample(9, 3 * GIB, "rollout", 0, "job", "job/rollout:0", "rank"),
    )
    node = NodeSample(0, "node0", devices=(DeviceSample(2, memory_total=80 * GIB, processes=there),))
    observation = Observation(0.0, "ray", (node,), job="job")
    found = inspect(two_nodes, Place(0, GPU, 2), locate=locate, width=88, observation=observation)
    lines = shown(found).splitlines()
    assert any(
        re.match(r" R  rollout 0 +≠ not planned +╸─+ +3\.0G  9 +planned on node0/gpu0-1", line) for line in lines
    )
    assert any(re.search(r"A  actor 2 .* 6$", line) for line in lines), "the others keep their line numbers"


@pytest.mark.parametrize("width", [30, 50, 60, 62, 67, 75, 100])
def test_two_meters_are_never_on_lines_that_touch(two_nodes: Plan, width: int) -> None:
    observation, _ = watched()
    lines = shown(
        inspect(two_nodes, Place(0, GPU, 2), locate=locate, width=width, observation=observation)
    ).splitlines()
    assert "load" in "".join(lines)
    assert sum("█" in line for line in lines) <= 1


def test_who_is_on_a_gpu_stands_in_a_table(two_nodes: Plan) -> None:
    observation, history = watched()
    found = inspect(
        two_nodes, Place(0, GPU, 2), locate=locate, width=100, observation=observation, history=history, rows=12
    )
    lines = shown(found).splitlines()
    assert lines[0].startswith("node0 · GPU 2")
    assert plain(found.title).startswith("node0 · GPU 2")
    assert re.match(r"memory █+ +80\.0 of 80 GiB  100% +load +█+.* 30%  61°  320 W", lines[1])
    header = next(line for line in lines if line.split()[:1] == ["rank"])
    assert header.split() == ["rank", "share", "state", "memory", "pid", "rule", "line"]
    actor, dead = (next(line for line in lines if line.strip().startswith(name)) for name in ("A  actor 2", "R  roll"))
    assert re.search(r"\.80 +· alive +━+╸?─+ +48\.0G +10 +actor: 0-15 +6", actor)
    assert "✗ dead" in dead
    assert lines[lines.index(dead) + 1].strip() == "└ killed by signal 9 · 2 restarts"
    red = found.lines[lines.index(dead)]
    assert {run.style.ground for run in red[1:]} == {"error"}, "what is wrong has area"
    assert [lines[line].strip()[:1] for line, _ in found.targets] == ["A", "R", "└"]
    assert any("?" in line and "foreign" in line for line in lines)


def test_graphs_have_an_axis_where_there_is_room(two_nodes: Plan) -> None:
    observation, history = watched()
    look = partial(
        inspect, two_nodes, Place(0, GPU, 2), locate=locate, width=120, observation=observation, history=history
    )
    assert "1 min ago" in shown(look(rows=30))
    assert "1 min ago" not in shown(look(rows=10))


def test_a_plan_says_what_each_rank_will_get(two_nodes: Plan) -> None:
    lines = shown(inspect(two_nodes, Place(0, GPU, 3), locate=locate, width=90, heading=False)).splitlines()
    assert lines[0].split() == ["rank", "share", "GPUs", "local", "visible", "rule", "line"]
    assert lines[2].split() == ["R", "rollout", "1", ".20", "2,3", "0", "2,3", "rollout:", "0-15:0-7", "7"]


def test_a_plan_says_why_each_rank_is_there_and_where_the_next_one_is(two_nodes: Plan) -> None:
    look = partial(inspect, two_nodes, Place(0, GPU, 7), locate=locate, width=90, heading=False)
    lines = shown(look(rows=9)).splitlines()
    assert lines[-2:] == [
        " A  next  rank 8 is on node1/gpu0",
        " R  next  rank 4 is on node1/gpu0-1",
    ]
    assert lines[-3] == ""
    # The table comes first.
    assert [len(shown(look(rows=rows)).splitlines()) for rows in (3, 4, 5)] == [3, 4, 5]
    assert "next" not in shown(look(rows=3))


def test_what_is_true_of_several_components_is_said_once() -> None:
    plan = placetui.load(str(folder("sample_configs") / "collocated.yaml"))
    look = partial(inspect, plan, Place(0, GPU, 0), locate=locate, width=90, rows=9, heading=False)
    assert shown(look()).splitlines()[-2:] == [
        " A,R,W  why   processes 0-15 over devices 0-15, one on each",
        " A,R,W  next  rank 1 is on node0/gpu1",
    ]


def test_ranks_of_one_component_have_a_reason_in_common() -> None:
    plan = placetui.load(str(folder("sample_configs") / "many-per-gpu.yaml"))
    found = inspect(plan, Place(0, GPU, 0), locate=locate, width=90, rows=12, heading=False)
    assert shown(found).splitlines()[-4:] == [
        " E  why   processes 0-15 over devices 0-3, 4 on each",
        " R  why   processes 0-3 over devices 0-7, 2 devices each",
        " E  next  rank 4 is on node0/gpu1",
        " R  next  rank 1 is on node0/gpu2-3",
    ]


def test_a_component_without_a_reason_of_its_framework_says_which_devices_are_meant() -> None:
    plan = placetui.load(str(folder("sample_configs") / "disaggregated.yaml"))
    found = inspect(plan, Place(0, GPU, 0), locate=locate, width=90, rows=12, heading=False)
    assert " W    why   devices 0-3" in shown(found)


def test_a_rule_says_how_it_is_spread() -> None:
    plan = placetui.load(str(folder("sample_configs") / "hybrid.yaml"))
    found = inspect(plan, Place(0, GPU, 5), locate=locate, width=90, rows=9, heading=False)
    reasons = (" R  why   processes 0-3 over devices 4-7, one on each", " R  next  rank 2 is on node0/gpu6")
    assert [line for line in shown(found).splitlines() if line.startswith((" R  why", " R  next"))] == list(reasons)


def test_what_does_not_fit_of_a_reason_is_left_out() -> None:
    plan = placetui.load(str(folder("sample_configs") / "slime-multinode-engine.yaml"))
    look = partial(inspect, plan, Place(0, GPU, 0), locate=locate, width=76, heading=False, compact=True)
    assert shown(look()).splitlines()[2:] == [
        "    why   2 nodes x 8 GPUs = 16 training ranks, one on each GPU from slot 0",
        "    next  rank 1 is on node0/gpu1",
    ]


@pytest.mark.parametrize("rows", range(1, 12))
def test_what_is_left_out_is_counted(two_nodes: Plan, rows: int) -> None:
    observation, history = watched()
    look = partial(
        inspect, two_nodes, Place(0, GPU, 2), locate=locate, width=60, observation=observation, history=history
    )
    most = len(look(rows=100).lines)
    found = look(rows=rows)
    assert len(found.lines) <= max(2, rows)
    assert all(line < len(found.lines) - 1 for line, _ in found.targets) or len(found.lines) == most
    if "more lines" in shown(found):
        assert shown(found).splitlines()[-1].startswith("and ")


def test_more_than_fits_a_compact_inspection_is_counted(make_plan: Build) -> None:
    plan = make_plan([1], {name: ("0", 1000, [(0, [0])]) for name in "abcde"})
    found = inspect(plan, Place(0, GPU, 0), locate=locate, width=60, compact=True)
    assert len(found.lines) == COMPACT
    assert plain(found.lines[-1]) == "and 3 more"


def test_more_components_than_fit_are_counted(make_plan: Build) -> None:
    plan = make_plan([1], {f"c{number}": ("0", 100, [(0, [0])]) for number in range(11)})
    assert plain(detailed(plan, Place(0, GPU, 0), locate=locate, width=80).lines[-1]) == "and 3 more components"


def test_the_environment_stands_in_the_columns_of_the_other_fields(two_nodes: Plan) -> None:
    look = partial(detailed, two_nodes, Place(0, GPU, 2), locate=locate, environment=True)
    lines = shown(look(width=100)).splitlines()
    heads = next(line for line in lines if "A actor 2   " in line and "R rollout 1" in line)
    given = lines[lines.index("Environment") :]
    visible = next(line for line in given if line.startswith("CUDA_VISIBLE_DEVICES"))
    assert visible.split() == ["CUDA_VISIBLE_DEVICES", "2", "2,3"]
    assert (visible.index(" 2 "), visible.index("2,3")) == (heads.index("A actor") - 1, heads.index("R rollout"))
    assert max(map(len, shown(look(width=30)).splitlines())) <= 30
    assert "Environment" not in shown(look(width=100, environment=False))


NAMES = st.text(min_size=1, max_size=12)


@given(
    names=st.lists(NAMES, min_size=1, max_size=12, unique=True),
    host=NAMES,
    width=st.integers(-1, 150),
    ascii=st.booleans(),
    compact=st.booleans(),
    live=st.booleans(),
    details=st.booleans(),
)
def test_any_names_stay_within_the_width_and_safe(
    make_plan: Build, names: list[str], host: str, width: int, ascii: bool, compact: bool, live: bool, details: bool
) -> None:
    plan = make_plan([3], {name: (name, 1000, [(0, [2])]) for name in names}, names=[host], groups={0: (host,)})
    observation, history = watched()
    found = inspect(
        plan,
        Place(0, GPU, 2),
        locate=locate,
        width=width,
        ascii=ascii,
        compact=compact,
        observation=observation if live else None,
        history=history if live else None,
        details=details,
        environment=details,
    )
    lines = [plain(line) for line in found.lines]
    assert all(cell_width(line) <= max(1, width) for line in lines)
    assert not ascii or all(line.isascii() for line in lines)
    assert all(line.replace("\u3000", "").replace("\xa0", "").isprintable() or not line.isascii() for line in lines)
    assert not compact or len(found.lines) <= COMPACT
    assert [line for line, _ in found.targets] == sorted({line for line, _ in found.targets})


def test_a_gpu_says_whose_job_is_on_it_and_since_when(two_nodes: Plan) -> None:
    job = JobSummary(
        "raysubmit_7",
        "rlinf",
        "02000000",
        "raysubmit_7",
        "python train.py --wandb-key ***",
        "ana@login1",
        started=1000.0,
    )
    process = ProcessSample(17, 3 * GIB, "actor", 2, "raysubmit_7", "ActorGroup:2", "rank")
    device = DeviceSample(2, memory_used=3 * GIB, memory_total=80 * GIB, processes=(process,))
    seen = Observation(8200.0, "ray", (NodeSample(0, "node0", "10.0.0.1", devices=(device,)),), jobs=(job,))
    lines = shown(detailed(two_nodes, Place(0, GPU, 2), locate=locate, width=110, observation=seen)).splitlines()
    (at,) = (number for number, line in enumerate(lines) if line.startswith("job "))
    assert re.sub(r"since \S+ \S+,", "since", lines[at]) == (
        "job    raysubmit_7 · rlinf · running · since 2 h · by ana@login1 · submitted as raysubmit_7"
    )
    assert lines[at + 1].strip() == "python train.py --wandb-key ***"
    assert any("A  actor 2" in line and "3.0G" in line for line in lines)


def test_a_gpu_with_another_physical_id_says_so(two_nodes: Plan) -> None:
    sample = DeviceSample(2, name="H100", physical=5)
    observation = Observation(0.0, "ray", (NodeSample(0, "node0", devices=(sample,)),))
    found = detailed(two_nodes, Place(0, GPU, 2), locate=locate, width=112, observation=observation)
    assert shown(found).startswith("node0 · GPU 5   H100   device 2 of the plan   share")


def test_a_long_rule_is_cut_before_other_columns_go(two_nodes: Plan) -> None:
    actor = replace(two_nodes.components["actor"], rule=Rule("0-3,4-7,8-11,12-15:" + 6 * "0-3,", ("actor",)))
    plan = replace(two_nodes, components={**two_nodes.components, "actor": actor})
    for width, rule in ((100, "actor: 0-3,4-7,8-11,12-15:0-3,0-3"), (64, "actor: 0-3,4-7")):
        lines = shown(inspect(plan, Place(0, GPU, 2), locate=locate, width=width))
        assert rule in lines
        assert "visible" in lines


def test_a_graph_is_as_wide_as_its_half_and_shows_all_that_is_known(two_nodes: Plan) -> None:
    history, sample = DeviceHistory(), DeviceSample(2, memory_used=3 * GIB, memory_total=4 * GIB, utilization=50)
    observation = Observation(0.0, "ray", (NodeSample(0, "node0", devices=(DeviceSample(0), DeviceSample(1), sample)),))
    look = partial(inspect, two_nodes, Place(0, GPU, 2), locate=locate, observation=observation, history=history)
    assert "1 min ago" in shown(look(width=90, rows=30))
    assert re.search(r"\n +1 min ago {37}now", shown(look(width=115, rows=30)))
    long = partial(look, history=DeviceHistory(300), width=115)
    long.keywords["history"].record(observation, [0])
    assert "98 s ago" in shown(long(rows=30))


def test_a_gpu_that_was_never_measured_has_no_graph(two_nodes: Plan) -> None:
    observation = Observation(0.0, "ray", (NodeSample(0, "node0", devices=(DeviceSample(0),)),))
    found = inspect(
        two_nodes, Place(0, GPU, 0), locate=locate, observation=observation, history=DeviceHistory(), width=90, rows=30
    )
    assert "memory" in shown(found)
    assert "1 min ago" not in shown(found)


def test_many_notices_leave_room_for_who_is_there(two_nodes: Plan) -> None:
    observation = Observation(0.0, "ray", (NodeSample(0, "node0", devices=(DeviceSample(0),)),))
    notices = [Alert("memory_above", f"notice {number}", 0, 0) for number in range(8)]
    look = partial(
        inspect, two_nodes, Place(0, GPU, 0), locate=locate, observation=observation, notices=notices, width=90
    )
    assert "▲ notice 2 (and 5 more)" in shown(look(rows=20))
    lines = shown(look(rows=6))
    assert "▲ notice 0 (and 7 more)" in lines
    assert "actor 0" in lines
    assert "rollout 0" in lines
    assert "▲ notice 7" in shown(look(details=True))


def test_a_low_panel_has_the_history_in_a_line(two_nodes: Plan) -> None:
    observation, history = watched()
    look = partial(inspect, two_nodes, Place(0, GPU, 2), locate=locate, width=66, heading=False, history=history)
    assert re.match(r"memory .*\n1 min +[^ ]+ {10,}[^ ]+\n", shown(look(observation=observation, rows=10)))
    assert "1 min" not in shown(look(observation=observation, rows=7))


def test_ranks_of_a_stale_node_are_not_called_alive(two_nodes: Plan) -> None:
    observation, _ = watched(stale=True)
    alive = {**observation.ranks, "rollout": tuple(RankState("rollout", rank, "alive") for rank in range(8))}
    stale = replace(observation, ranks=alive)
    for compact in (False, True):
        found = shown(
            inspect(
                two_nodes, Place(0, GPU, 2), locate=locate, width=80, observation=stale, compact=compact, heading=False
            )
        )
        assert "alive" not in found
        assert found.count("? stale 12 s") == 2
