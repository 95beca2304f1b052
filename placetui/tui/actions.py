"""The one table of actions: keys, availability, footer, palette, help and documentation all come from here."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Literal, TypeAlias

from textual.binding import Binding, BindingType

View: TypeAlias = Literal["grid", "file", "text", "processes", "ranks", "drift", "groups", "events", "waiting"]
"""What is shown: the grid, the file (`text` while it is edited), a table, or nothing yet."""

FileKind: TypeAlias = Literal["file", "record", "cluster", "none"]
"""What a plan comes from: a file, the record of a job, the cluster as it is, or nothing yet."""

Owner: TypeAlias = Literal["app", "main", "pane", "grid", "edits", "workspace", "cluster", "replay", "jobs", "launches"]
"""The object that performs it; `pane` is the one in view."""

Need: TypeAlias = Literal["file", "job", "write", "cluster", "undo", "redo", "changes", "problems"]

OBJECTS: tuple[Need, ...] = ("cluster", "undo", "redo", "changes", "problems")
"""Needs without which an action has nothing to act on, and is not named."""

READ_ONLY = "read-only: start placetui with --write"
NO_CLUSTER = "a simulation or a recording has no cluster to act on"

GRID: tuple[View, ...] = ("grid",)
FILES: tuple[View, ...] = ("file", "text")
TABLES: tuple[View, ...] = ("processes", "ranks", "drift", "groups", "events")
PANES: tuple[View, ...] = (*GRID, *TABLES)
"""Where there is a cursor of ours."""

RANKS: tuple[View, ...] = ("grid", "processes", "ranks", "drift", "events")
"""Where a rank can be selected."""

MAIN: tuple[View, ...] = (*GRID, *FILES, *TABLES)
ANYWHERE: tuple[View, ...] = (*MAIN, "waiting")


@dataclass(frozen=True, slots=True)
class Action:
    """Something a person can do."""

    id: str
    """Its method's name on its owner; users rebind keys by it."""

    keys: str
    """Default keys, separated by commas."""

    label: str
    """Two words at most, for footer and palette."""

    help: str
    """A sentence."""

    group: str
    owner: Owner
    views: tuple[View, ...] = MAIN
    needs: tuple[Need, ...] = ()
    labels: Mapping[View, str] = field(default_factory=dict)
    """What it is called in views where it means something else."""

    priority: bool = False
    """Whether it works even while a text field has the focus."""

    palette: bool = True

    def label_in(self, view: View) -> str:
        return self.labels.get(view, self.label)


@dataclass(frozen=True, slots=True)
class Context:
    """What the availability of actions depends on."""

    view: View
    job: bool = False
    """Whether a job is selected."""

    file: FileKind = "file"
    write: bool = False
    """Whether jobs may be changed."""

    cluster: bool = True
    """Whether there may be a cluster; behind a simulation or a recording there is none."""

    undo: bool = True
    """Whether there are edits to be undone."""

    redo: bool = True
    """Whether there are undone edits."""

    changes: bool = True
    """Whether there is anything to save."""

    problems: bool = True
    """Whether there is another problem to go to than the one that is shown."""

    footer: str = ""
    """Which keys the bottom line names, if not those of the view."""


def availability(action: Action, context: Context) -> bool | None:
    """True: it can be done; None: it belongs to the view but lacks something; False: it does not belong there."""
    if context.view not in action.views:
        return False
    return None if why_not(action, context) else True


def is_named(action: Action, context: Context) -> bool:
    """Whether footer, palette and panels name it: it belongs to the view, and there is something for it to act on."""
    idle = any(need in OBJECTS and not getattr(context, need) for need in action.needs)
    return not idle and context.view in action.views


def why_not(action: Action, context: Context) -> str:
    """What an action lacks that belongs to the view; empty if nothing."""
    if "cluster" in action.needs and not context.cluster:
        return NO_CLUSTER
    if "file" in action.needs and context.file in ("record", "none"):
        return "this is the record of a job, not a file; o opens a file"
    if "write" in action.needs and not context.write:
        return READ_ONLY
    if "job" in action.needs and not context.job:
        return "no job selected: J lists them"
    return ""


_TO_GRID: dict[View, str] = dict.fromkeys(TABLES, "to grid")
_FILTER: dict[View, str] = dict.fromkeys(TABLES, "filter")
_AS_GRID: dict[View, str] = dict.fromkeys(TABLES, "grid")

_move = partial(Action, group="Move", owner="pane", views=PANES)
_see = partial(Action, group="See", owner="main")
_grid = partial(Action, group="See", owner="grid", views=GRID)
_find = partial(Action, group="Find", owner="grid", views=GRID)
_select = partial(Action, group="Edit", owner="pane", views=GRID)
_edit = partial(Action, group="Edit", owner="edits", views=GRID, needs=("file",))
_text = partial(Action, group="Edit", owner="workspace")
_try = partial(Action, group="Try", owner="workspace", needs=("file",))
_live = partial(Action, group="Live", owner="cluster")
_replay = partial(Action, group="Live", owner="replay")
_job = partial(Action, group="Jobs", owner="jobs", needs=("cluster",))
_rank = partial(Action, group="Jobs", owner="jobs", views=RANKS)
_launch = partial(Action, group="Jobs", owner="launches", needs=("cluster",))
_keep = partial(Action, group="Keep", owner="main")
_app = partial(Action, group="App", owner="app", views=ANYWHERE)

ACTIONS: tuple[Action, ...] = (
    _move("cursor_left", "left,h", "left", "Move to the device on the left.", views=GRID, palette=False),
    _move("cursor_right", "right,l", "right", "Move to the device on the right.", views=GRID, palette=False),
    _move("cursor_up", "up,k", "up", "Move to the row above.", palette=False),
    _move("cursor_down", "down,j", "down", "Move to the row below.", palette=False),
    _move("page_up", "pageup,ctrl+b", "page up", "Move up by a screen.", palette=False),
    _move("page_down", "pagedown,ctrl+f", "page down", "Move down by a screen.", palette=False),
    _move("row_start", "home,0", "first device", "Go to the first device of a node."),
    _move("row_end", "end,dollar_sign", "last device", "Go to the last device of a node."),
    _move("first_node", "ctrl+home,g", "first node", "Move to the first node."),
    _move("last_node", "ctrl+end,G", "last node", "Move to the last node."),
    _grid("zoom_in", "plus,equals_sign", "zoom in", "Show more of each device."),
    _grid("zoom_out", "minus,underscore", "zoom out", "Show more devices at once."),
    _grid("next_metric", "M", "metric", "Change the value of the heat wall."),
    _move("jump", "enter", "to rule", "Go to the rule, problem or GPU.", group="See", labels=_TO_GRID),
    _see("details", "d", "details", "Show all fields of this device."),
    _grid("next_component", "c", "component", "Highlight the next component."),
    _see("view_plan", "1", "plan", "Show the grid.", labels=_AS_GRID),
    _see("view_yaml", "2", "yaml", "Show the file with its problems."),
    _see("view_processes", "3", "processes", "List the processes on each GPU."),
    _see("view_ranks", "4", "ranks", "List ranks with state and memory."),
    _see("view_drift", "5", "drift", "List differences and alerts."),
    _see("view_groups", "6", "groups", "List placement groups and bundles."),
    _see("view_events", "7", "events", "List events with their times."),
    _see("next_problem", "exclamation_mark", "problem", "Go to the next problem.", needs=("problems",)),
    _see("toggle_side", "b", "side bar", "Show or hide the side panels."),
    _see("find", "slash", "find", "Find a rank, device, node or state.", group="Find", labels=_FILTER),
    _find("find_next", "n", "next hit", "Go to the next hit."),
    _find("find_previous", "N", "previous hit", "Go to the previous hit."),
    _find("filter", "f", "filter", "Show only matches or marks, or all."),
    _find("sort", "s", "sort", "Sort nodes, or by the next column.", owner="pane", views=PANES),
    _find("reverse", "S", "reverse", "Reverse the order of a table.", owner="pane", views=TABLES),
    _find(
        "clear",
        "escape",
        "clear",
        "Clear hits and filter, or go back.",
        owner="main",
        views=MAIN,
        labels={"text": "back to the grid"},
    ),
    _select("extend_left", "shift+left", "select left", "Extend the selection to the left.", palette=False),
    _select("extend_right", "shift+right", "select right", "Extend the selection to the right.", palette=False),
    _select("extend_up", "shift+up", "select up", "Extend the selection upwards.", palette=False),
    _select("extend_down", "shift+down", "select down", "Extend the selection downwards.", palette=False),
    _select("toggle_select", "space", "select", "Select or deselect this device."),
    _select("select_node", "v", "select node", "Select all devices of this node."),
    _select("select_column", "V", "select column", "Select this device on every node."),
    _edit("assign", "a", "assign", "Assign a component to devices."),
    _edit("take_off", "delete,backspace", "unassign", "Unassign a component there."),
    _edit("move_back", "ctrl+left", "move back", "Move a component one device back."),
    _edit("move_on", "ctrl+right", "move forward", "Move a component one device ahead."),
    _edit("move_up", "ctrl+up", "move up", "Move a component up by one node."),
    _edit("move_down", "ctrl+down", "move down", "Move a component down by one node."),
    _edit("grow", "right_square_bracket", "grow", "Give a component one more device."),
    _edit("shrink", "left_square_bracket", "shrink", "Give a component one device fewer."),
    _edit("edit_rule", "e", "edit rule", "Edit a rule; the grid follows."),
    _edit("more", "m", "more", "Swap, spread, share, rename …"),
    _text("edit_yaml", "E", "edit text", "Edit the file beside the grid.", owner="main"),
    _text("undo", "u,ctrl+z", "undo", "Undo the last edit.", views=(*GRID, *FILES), needs=("file", "undo")),
    _text("redo", "U,ctrl+y", "redo", "Redo the last undone edit.", views=(*GRID, *FILES), needs=("file", "redo")),
    _text("recover", "ctrl+r", "unsaved work", "Continue or discard unsaved work.", needs=("file",)),
    _text("save", "ctrl+s", "save", "Show the changes, then save.", needs=("changes",), priority=True),
    _try("what_if", "w", "what if", "Try another topology or layout."),
    _try("apply_what_if", "W", "apply what-if", "Apply the what-if to the file."),
    _try("reload", "r", "reload", "Discard what-if, reload the file."),
    _live("pause", "p", "pause", "Pause or continue live values."),
    _live("faster", "greater_than_sign", "faster", "Sample the cluster more often."),
    _live("slower", "less_than_sign", "slower", "Sample the cluster less often."),
    _replay("step_on", "full_stop", "step forward", "Go to the next observation."),
    _replay("step_back", "comma", "step back", "Go to the previous observation."),
    _replay("skip_on", "right_curly_bracket", "minute forward", "Skip one minute in a recording."),
    _replay("skip_back", "left_curly_bracket", "minute back", "Go back one minute in a recording."),
    _replay("seek", "T", "go to", "Go to a time in a recording."),
    _launch("launch", "L", "launch", "Launch the plan, or show its launch."),
    _launch("preflight", "B", "before launch", "Check whether Ray can place the job."),
    _job("jobs", "J", "jobs", "List jobs, to follow or stop one."),
    _job("stop_job", "X", "stop job", "Stop the selected job.", needs=("write", "cluster")),
    _rank("call", "C", "call", "Call a method on all ranks.", needs=("write", "job", "cluster")),
    _rank("rank_log", "F", "follow log", "Follow the log of the selected rank.", needs=("job", "cluster")),
    _rank("rank_stack", "H", "stack", "Show where the selected rank hangs.", needs=("job", "cluster")),
    _rank("kill_rank", "K", "kill rank", "Kill the selected rank.", needs=("write", "job", "cluster")),
    _rank("restart_rank", "R", "restart rank", "Restart the selected rank.", needs=("write", "job", "cluster")),
    _job("ray_log", "O", "ray output", "Show what Ray printed."),
    _keep("keep", "P", "snapshot", "Save the running cluster as a file.", owner="cluster"),
    _keep("copy", "y", "copy", "Copy the grid as text (OSC 52)."),
    _keep("export", "x", "export", "Save the grid as text or SVG.", owner="app"),
    _keep("shot", "Y", "picture", "Save a picture of the screen.", owner="app"),
    _app("next_theme", "t", "theme", "Change to the next theme."),
    _app("new", "ctrl+n", "new file", "Create a file with a preview."),
    _app("open", "o", "open", "Open another file."),
    _app("help", "question_mark,f1", "help", "Show all keys."),
    _app("quit", "q", "quit", "Quit."),
    _app("interrupt", "ctrl+c", "quit now", "Quit immediately.", priority=True, palette=False),
)
BY_ID: dict[str, Action] = {action.id: action for action in ACTIONS}

Footer: TypeAlias = tuple[tuple[tuple[str, str], ...], ...]
"""Groups of actions (several that share an entry joined by `+`), each with a label if not its own."""

_HELP = (("help", "keys"),)
_FOOTERS: dict[str, Footer] = {
    "trouble": (
        (("rank_log", "log"), ("restart_rank", "restart"), ("jump", "rule"), ("details", "")),
        (("next_problem", "next problem"), ("find", ""), ("zoom_in+zoom_out", "zoom"), ("what_if", "")),
        _HELP,
    ),
    "place": (
        (("view_processes", "processes"), ("details", ""), ("jump", "rule")),
        (("next_problem", "next problem"), ("find", ""), ("zoom_in+zoom_out", "zoom"), ("what_if", "")),
        _HELP,
    ),
    "problem": (
        (("jump", "go there"), ("next_problem", "next"), ("edit_rule", ""), ("edit_yaml", "edit file")),
        (("undo", ""), ("save", ""), ("what_if", ""), ("clear", "close"), ("open", ""), ("quit", "")),
        _HELP,
    ),
    "problem in text": (
        (("jump", "go there"), ("next_problem", "next"), ("edit_yaml", "edit file")),
        (("undo", ""), ("save", ""), ("what_if", ""), ("clear", "close"), ("open", ""), ("quit", "")),
        _HELP,
    ),
    "grid": (
        (("jump", "rule"), ("edit_rule", "edit"), ("assign", ""), ("what_if", ""), ("launch", ""), ("find", "")),
        (
            *(("undo", ""), ("save", ""), ("details", ""), ("zoom_in+zoom_out", "zoom"), ("next_component", "")),
            *(("open", ""), ("quit", "")),
        ),
        _HELP,
    ),
    "what if": (
        (("apply_what_if", "to the file"), ("reload", "discard"), ("what_if", "another"), ("details", "")),
        (("find", ""), ("zoom_in+zoom_out", "zoom"), ("next_problem", "next problem"), ("quit", "")),
        _HELP,
    ),
    "problems": (
        (("jump", "rule"), ("edit_rule", "edit"), ("next_problem", "next problem"), ("assign", ""), ("what_if", "")),
        (
            *(("undo", ""), ("save", ""), ("launch", ""), ("find", ""), ("details", "")),
            *(("zoom_in+zoom_out", "zoom"), ("quit", "")),
        ),
        _HELP,
    ),
    "heat": (
        (("zoom_in", ""), ("next_metric", ""), ("sort", ""), ("filter", "only marked")),
        (("next_problem", "next mark"), ("find", ""), ("first_node+last_node", "ends"), ("details", "")),
        _HELP,
    ),
    "found": (
        (("find_next", "next"), ("find_previous", "previous"), ("clear", ""), ("filter", "only hits")),
        (("jump", "rule"), ("details", ""), ("find", ""), ("zoom_in+zoom_out", "zoom")),
        _HELP,
    ),
    "several": (
        (("assign", ""), ("take_off", ""), ("more", ""), ("clear", "")),
        (("undo", ""), ("save", ""), ("find", ""), ("zoom_in+zoom_out", "zoom")),
        _HELP,
    ),
    "launch": (
        (("launch", "details, cancel"), ("rank_log", "log"), ("ray_log", "Ray's output")),
        (("next_problem", "next that waits"), ("find", ""), ("zoom_in+zoom_out", "zoom"), ("details", "")),
        _HELP,
    ),
    "file": (
        (("view_plan", "grid"), ("next_problem", "next"), ("edit_yaml", "edit file"), ("undo", ""), ("save", "")),
        (("what_if", ""), ("launch", ""), ("open", ""), ("quit", "")),
        _HELP,
    ),
    "text": ((("save", ""), ("undo", ""), ("redo", ""), ("clear", "")),),
    **dict.fromkeys(
        TABLES,
        (
            (("jump", ""), ("find", ""), ("sort", ""), ("reverse", ""), ("details", "")),
            (("rank_log", "log"), ("restart_rank", "restart"), ("view_plan", ""), ("quit", "")),
            _HELP,
        ),
    ),
}


def footer(context: Context) -> Footer:
    """The actions that the bottom line names, the most useful first."""
    return _FOOTERS.get(context.footer or context.view, (_HELP,))


def bindings(*, panes: bool) -> list[BindingType]:
    """Bindings of the actions that panes do, or of all others."""
    return [
        Binding(
            action.keys,
            f"app.act({action.id!r})",
            action.label,
            show=False,
            priority=action.priority,
            tooltip=action.help,
            id=action.id,
        )
        for action in ACTIONS
        if (action.owner == "pane") is panes
    ]


def by_group() -> dict[str, list[Action]]:
    """Actions under the headings of the help."""
    groups: dict[str, list[Action]] = {}
    for action in ACTIONS:
        groups.setdefault(action.group, []).append(action)
    return groups


def key_names(action: Action, rebound: Mapping[str, str], ascii: bool = False) -> Iterator[str]:
    """The keys of an action as people read them."""
    for key in rebound.get(action.id, action.keys).split(","):
        name = key.strip()
        yield name if ascii and name in _ARROWS else _SHOWN.get(name, name)


_ARROWS = ("left", "right", "up", "down")
_SHOWN = {
    "left": "←",
    "right": "→",
    "up": "↑",
    "down": "↓",
    "plus": "+",
    "equals_sign": "=",
    "minus": "-",
    "underscore": "_",
    "slash": "/",
    "question_mark": "?",
    "exclamation_mark": "!",
    "dollar_sign": "$",
    "full_stop": ".",
    "comma": ",",
    "left_square_bracket": "[",
    "right_square_bracket": "]",
    "left_curly_bracket": "{",
    "right_curly_bracket": "}",
    "greater_than_sign": ">",
    "less_than_sign": "<",
    "pageup": "pgup",
    "pagedown": "pgdn",
    "delete": "del",
}
