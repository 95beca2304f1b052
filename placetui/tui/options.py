"""What the command line and the configuration ask of the dashboard."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, TypeAlias

from placetui.document import PlanRequest
from placetui.document.planning import DEFAULT_REQUEST
from placetui.grid import Density
from placetui.observe.alerts import NO_THRESHOLDS, Thresholds
from placetui.observe.operations import AUTO, Operations
from placetui.observe.ports import ClusterSource
from placetui.placement.plan import Plan
from placetui.placement.problems import Problem

ChoiceKind: TypeAlias = Literal["recent", "sample", "new", "demo", "cluster"]


@dataclass(frozen=True, slots=True)
class Choice:
    """A file that can be opened, or something else."""

    path: str
    about: str = ""
    """What its first comment says."""

    kind: ChoiceKind = "sample"
    framework: str = ""
    """The title of its framework, as far as that is known."""

    label: str = ""
    """What it is called; empty: its file name."""

    @property
    def name(self) -> str:
        return self.label or os.path.basename(self.path)


@dataclass(frozen=True)
class Options:
    """What the command line and the configuration ask for."""

    theme: str | None = None
    density: Density | None = None
    """None: the most detailed one at which all nodes fit."""

    role_colors: Mapping[str, str] = field(default_factory=dict)
    """Role of components → its colour in every theme."""

    ascii: bool = False
    color: bool = True
    motion: bool = True
    """Whether changes are highlighted briefly, and scrolling is animated."""

    keys: Mapping[str, str] = field(default_factory=dict)
    interval: float = 1.0
    thresholds: Thresholds = NO_THRESHOLDS
    """Thresholds of alerts."""

    user_themes: Path = Path("themes")
    """Where the user's own themes are; need not exist."""

    choices: Sequence[Choice] = ()
    notices: Sequence[Problem] = ()
    remember: Callable[[str, Any], None] = lambda _key, _value: None
    """Keeps something for the next start."""

    plan_request: PlanRequest = DEFAULT_REQUEST
    """Options for every file that is opened: nodes, mode, values."""

    write: bool = False
    """Whether the opened file may be changed."""

    recovers: bool = True
    """Whether unsaved work is kept, and what an earlier run kept is offered."""

    new: str = ""
    """A file that does not exist yet and is to be made."""

    source_for: Callable[[Plan], ClusterSource] | None = None
    """Opens a live picture of something that is not a cluster for a plan."""

    cluster: Callable[[Plan, str, str], ClusterSource] | None = None
    """Opens a live picture of a cluster: for a plan, by the cluster's address, with the ranks of a job."""

    demo: Callable[[Plan], ClusterSource] | None = None
    """Opens a simulated cluster for a plan, for who asks for a demonstration from within."""

    demo_file: str = ""
    """The file of that demonstration."""

    operations: Operations | None = None
    """Does things on a cluster."""

    address: str = AUTO
    """The cluster: `auto`, `HOST:PORT`, or `local` for an embedded one."""

    launch_with: Mapping[str, Any] = field(default_factory=dict)
    """What else goes with the request for a launch."""

    child_log: Callable[[], Path | None] = lambda: None
    """Where the output of Ray goes."""

    now: Callable[[], float] = time.time

    picture: Callable[[], ClusterSource] | None = None
    """Opens a live picture without a plan: what is shown, as it is, when no file is."""

    picture_of: Callable[[str], ClusterSource] | None = None
    """The same of a cluster that is chosen by its address."""
