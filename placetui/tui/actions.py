"""The one table of actions: keys, footer, palette, help and documentation all come from here."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

from textual.binding import Binding, BindingType

Scope: TypeAlias = Literal["app", "screen", "grid"]


@dataclass(frozen=True, slots=True)
class Action:
    """Something a person can do."""

    id: str
    """Its method is `action_<id>` on the app, the main screen or the grid; users rebind keys by it."""

    keys: str
    """Default keys, separated by commas."""

    label: str
    """Two words at most, for footer and palette."""

    help: str
    """A sentence."""

    group: str
    scope: Scope = "screen"
    footer: bool = False
    priority: bool = False
    """Whether it works even while a text field has the focus."""

    palette: bool = True

    @property
    def where(self) -> Literal["grid", "anywhere"]:
        """Which view it makes sense in."""
        return (
            "grid"
            if self.scope == "grid" or self.id in ("zoom_in", "zoom_out", "details", "next_component")
            else "anywhere"
        )

    @property
    def target(self) -> str:
        """Namespace of its method, as Textual names them."""
        return "screen" if self.scope == "grid" else self.scope


ACTIONS: tuple[Action, ...] = (
    Action("cursor_left", "left,h", "left", "Move to the device on the left.", "Move", "grid", palette=False),
    Action("cursor_right", "right,l", "right", "Move to the device on the right.", "Move", "grid", palette=False),
    Action("cursor_up", "up,k", "up", "Move to the row above.", "Move", "grid", palette=False),
    Action("cursor_down", "down,j", "down", "Move to the row below.", "Move", "grid", palette=False),
    Action("page_up", "pageup,ctrl+b", "page up", "Move up by a screen.", "Move", "grid", palette=False),
    Action("page_down", "pagedown,ctrl+f", "page down", "Move down by a screen.", "Move", "grid", palette=False),
    Action("row_start", "home,0", "first device", "Move to the first device of the node.", "Move", "grid"),
    Action("row_end", "end,dollar_sign", "last device", "Move to the last device of the node.", "Move", "grid"),
    Action("first_node", "ctrl+home,g", "first node", "Move to the first node.", "Move", "grid"),
    Action("last_node", "ctrl+end,G", "last node", "Move to the last node.", "Move", "grid"),
    Action("zoom_in", "plus,equals_sign", "zoom in", "Show more of each device.", "See", footer=True),
    Action("zoom_out", "minus,underscore", "zoom out", "Show more devices at once.", "See", footer=True),
    Action("jump", "enter", "to rule", "Show the rule behind this device; in a table, its place.", "See", "grid", True),
    Action("details", "d", "details", "Say all about this device: fields, environment, reasons.", "See", footer=True),
    Action(
        "next_component", "c", "component", "Highlight the next component; after the last, none.", "See", footer=True
    ),
    Action("view_plan", "1", "plan", "Show the grid.", "See"),
    Action("view_yaml", "2", "yaml", "Show the file, with its problems marked.", "See"),
    Action("view_processes", "3", "processes", "Show who is on which GPU, as a table.", "See"),
    Action("view_ranks", "4", "ranks", "Show every rank with its state and memory, as a table.", "See"),
    Action("view_drift", "5", "drift", "Show where reality differs from the plan, and the alerts.", "See"),
    Action("view_groups", "6", "groups", "Show the placement groups and their bundles, as a table.", "See"),
    Action("next_problem", "exclamation_mark", "problem", "Go to the next problem.", "See"),
    Action("toggle_side", "b", "side bar", "Show or hide components, problems and legend.", "See"),
    Action(
        "find", "slash", "find", "Find a rank, device, node, host, free, shared, oversubscribed.", "Find", footer=True
    ),
    Action("find_next", "n", "next hit", "Go to the next hit.", "Find"),
    Action("find_previous", "N", "previous hit", "Go to the previous hit.", "Find"),
    Action("filter", "f", "filter", "Show only nodes with hits, or all again.", "Find"),
    Action(
        "sort", "s", "sort", "Sort nodes by rank, memory, state or free devices; a table by its next column.", "Find"
    ),
    Action("reverse", "S", "reverse", "Turn the order of a table round.", "Find"),
    Action("clear", "escape", "clear", "Forget highlight, hits and filter.", "Find"),
    Action("extend_left", "shift+left", "select left", "Select on to the left.", "Edit", "grid", palette=False),
    Action("extend_right", "shift+right", "select right", "Select on to the right.", "Edit", "grid", palette=False),
    Action("extend_up", "shift+up", "select up", "Select on upwards.", "Edit", "grid", palette=False),
    Action("extend_down", "shift+down", "select down", "Select on downwards.", "Edit", "grid", palette=False),
    Action("toggle_select", "space", "select", "Select this device, or no longer.", "Edit", "grid"),
    Action("select_node", "v", "select node", "Select all devices of this node.", "Edit", "grid"),
    Action("select_column", "V", "select column", "Select this device on every node.", "Edit", "grid"),
    Action("assign", "a", "assign", "Put a component on the selected devices.", "Edit", footer=True),
    Action("take_off", "delete,backspace", "take off", "Take a component off the selected devices.", "Edit"),
    Action("move_back", "ctrl+left", "move back", "Move a component back by one device.", "Edit"),
    Action("move_on", "ctrl+right", "move on", "Move a component on by one device.", "Edit"),
    Action("move_up", "ctrl+up", "move up", "Move a component to the node before.", "Edit"),
    Action("move_down", "ctrl+down", "move down", "Move a component to the next node.", "Edit"),
    Action("grow", "right_square_bracket", "grow", "Give a component one more device.", "Edit"),
    Action("shrink", "left_square_bracket", "shrink", "Take one device from a component.", "Edit"),
    Action("edit_rule", "e", "edit rule", "Change a rule; the grid follows each key.", "Edit", footer=True),
    Action("more", "m", "more", "Swap, spread, group, share, rename, join, remove, mode.", "Edit"),
    Action("edit_yaml", "E", "edit text", "Edit the whole file, with the grid beside it.", "Edit"),
    Action("undo", "u,ctrl+z", "undo", "Take the last edit back.", "Edit", footer=True),
    Action("redo", "U,ctrl+y", "redo", "Do the last undone edit again.", "Edit"),
    Action("save", "ctrl+s", "save", "Save, after showing what changes.", "Edit", priority=True),
    Action("what_if", "w", "what if", "Try another topology, mode or layout.", "Try", "app", footer=True),
    Action("reload", "r", "reload", "Read the file again and forget what was tried.", "Try", "app"),
    Action("pause", "p", "pause", "Stop the live picture, or let it go on.", "Live", "app"),
    Action("faster", "greater_than_sign", "faster", "Look at the cluster more often.", "Live", "app"),
    Action("slower", "less_than_sign", "slower", "Look at the cluster less often.", "Live", "app"),
    Action("step_on", "full_stop", "step on", "Pause a recording, and show the next look.", "Live", "app"),
    Action("step_back", "comma", "step back", "Pause a recording, and show the look before.", "Live", "app"),
    Action("skip_on", "right_curly_bracket", "minute on", "Go on a minute in a recording.", "Live", "app"),
    Action("skip_back", "left_curly_bracket", "minute back", "Go back a minute in a recording.", "Live", "app"),
    Action("seek", "T", "go to", "Go to a time in a recording.", "Live", "app"),
    Action("launch", "L", "launch", "Launch what is on the screen, or look at a launch.", "Jobs", "app", footer=True),
    Action("jobs", "J", "jobs", "List the jobs of the cluster; look at one, or stop it.", "Jobs", "app"),
    Action("stop_job", "X", "stop job", "Stop the job that is looked at.", "Jobs", "app"),
    Action("call", "C", "call", "Call a method on all ranks of a component.", "Jobs", "app"),
    Action("rank_log", "F", "follow log", "Follow the log of the rank under the cursor.", "Jobs", "app"),
    Action("kill_rank", "K", "kill rank", "Kill the rank under the cursor.", "Jobs", "app"),
    Action("restart_rank", "R", "restart rank", "Restart the rank under the cursor.", "Jobs", "app"),
    Action("ray_log", "O", "ray output", "Read what Ray prints.", "Jobs", "app"),
    Action("keep", "P", "keep", "Save the cluster as it is as a placement file.", "Keep", "app"),
    Action("copy", "y", "copy", "Copy the grid as text to the clipboard (OSC 52).", "Keep"),
    Action("export", "x", "export", "Save the grid as text or SVG.", "Keep", "app"),
    Action("next_theme", "t", "theme", "Change to the next theme.", "App", "app"),
    Action("open", "o", "open", "Open another file.", "App", "app"),
    Action("help", "question_mark,f1", "help", "Show all keys.", "App", "app", footer=True),
    Action("quit", "q", "quit", "Leave.", "App", "app", footer=True),
    Action(
        "interrupt",
        "ctrl+c",
        "leave",
        "Leave at once, wherever the focus is.",
        "App",
        "app",
        priority=True,
        palette=False,
    ),
)


def bindings(scope: Scope, only: Collection[str] | None = None) -> list[BindingType]:
    """The bindings of one scope, or only those of some of its actions."""
    return [
        Binding(
            action.keys,
            action.id,
            action.label,
            show=action.footer,
            priority=action.priority,
            tooltip=action.help,
            id=action.id,
        )
        for action in ACTIONS
        if action.scope == scope and (only is None or action.id in only)
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
    "pageup": "page up",
    "pagedown": "page down",
}
