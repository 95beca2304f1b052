"""Ray's insides: the installed Ray has all that is used of them, and one that has not is refused with a sentence."""

from __future__ import annotations

import ast
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from placetui.runtime.gcs import client as private
from placetui.runtime.gcs import rows as private_rows
from placetui.runtime.gcs.interfaces import (
    CALLS,
    NEWEST_KNOWN,
    OLDEST,
    OPTIONAL_ROWS,
    ROWS,
    missing,
    missing_optional,
    notice,
    require,
    unfit,
)

ROOT = Path(__file__).parents[2]
SOURCE = ast.parse("\n".join(Path(str(one.__file__)).read_text(encoding="utf-8") for one in (private, private_rows)))


def test_the_installed_ray_has_everything() -> None:
    assert missing() == []
    assert missing_optional() == []
    require()
    assert notice(version("ray")) == ""


def test_the_list_has_every_call_of_the_source() -> None:
    asked = {
        node.args[0].value
        for node in ast.walk(SOURCE)
        if isinstance(node, ast.Call)
        and ast.unparse(node.func) in ("self._call", "self._call_once")
        and isinstance(node.args[0], ast.Constant)
    }
    assert asked == {call.method for call in CALLS}


def test_the_list_has_every_field_of_the_source() -> None:
    read = {
        node.attr
        for node in ast.walk(SOURCE)
        if isinstance(node, ast.Attribute) and ast.unparse(node.value) in ("row", "row.stats", "bundle", "reply")
    }
    names = " ".join([*ROWS.values(), *OPTIONAL_ROWS.values(), *(call.replies for call in CALLS)]).split()
    # Capitals are what protobuf itself offers.
    assert {name for name in read if name.islower()} - {"status"} <= set(names)


def without(module: str, *names: str) -> Any:
    """A way to find modules, one of which lacks something; all of it if nothing is named."""

    def find(wanted: str) -> Any:
        if wanted != module:
            return import_module(wanted)
        if not names:
            raise ModuleNotFoundError(wanted)
        real = import_module(wanted)
        return SimpleNamespace(**{name: value for name, value in vars(real).items() if name not in names})

    return find


def test_what_raylets_say_of_tasks_can_be_done_without() -> None:
    find = without("ray.core.generated.node_manager_pb2")
    assert missing(find) == []
    assert missing_optional(find) == ["GetNodeStatsReply"]


def changed(module: str, message: str, field: str) -> Any:
    """A way to find modules, where one field of a message is gone."""
    real = import_module(module)
    fields = {name for name in getattr(real, message).DESCRIPTOR.fields_by_name if name != field}
    doctored = SimpleNamespace(DESCRIPTOR=SimpleNamespace(fields_by_name=fields))
    stand_in = SimpleNamespace(**{**vars(real), message: doctored})
    return lambda wanted: stand_in if wanted == module else import_module(wanted)


@pytest.mark.parametrize(
    ("find", "found"),
    [
        (without("ray._private.services"), ["ray._private.services.find_gcs_addresses"]),
        (without("ray._private.services", "find_gcs_addresses"), ["ray._private.services.find_gcs_addresses"]),
        (
            without("ray.core.generated.gcs_service_pb2_grpc", "NodeResourceInfoGcsServiceStub"),
            ["NodeResourceInfoGcsService.GetAllAvailableResources"],
        ),
        (without("ray.core.generated.gcs_service_pb2", "KillActorViaGcsRequest"), ["KillActorViaGcsRequest"]),
        (changed("ray.core.generated.gcs_service_pb2", "InternalKVPutReply", "added"), ["InternalKVPutReply.added"]),
        (
            changed("ray.core.generated.gcs_pb2", "ActorTableData", "resource_mapping"),
            ["ActorTableData.resource_mapping"],
        ),
    ],
)
def test_what_is_gone_is_named(find: Any, found: list[str]) -> None:
    assert missing(find) == found


def test_what_has_moved_before_is_looked_for_in_both_places() -> None:
    def find(module: str) -> Any:
        if module in ("ray._private.grpc_utils", "ray._private.utils"):
            raise ModuleNotFoundError(module)
        return import_module(module)

    assert missing(find) == ["init_grpc_channel"]


def test_nothing_breaks_where_there_is_no_ray_at_all() -> None:
    def find(module: str) -> Any:
        raise ModuleNotFoundError(module)

    assert len(missing(find)) > 10


def test_a_newer_ray_that_lacks_something_is_refused_by_version_and_name() -> None:
    problem = unfit("2.99.1", ["ActorTableData.pid"])
    assert problem.message == "Ray 2.99.1 lacks interfaces that placetui needs: `ActorTableData.pid`"
    assert problem.hint == (
        f"get a newer placetui: this one was tested with Ray up to {NEWEST_KNOWN}; plans and checks need no Ray"
    )


def test_of_many_missing_names_some_are_said() -> None:
    assert unfit("3.0", list("abcdefg")).message.endswith("needs: `a`, `b`, `c` and 4 more")


@pytest.mark.parametrize(
    ("ray", "words"), [("2.40.0", "needs Ray 2.49 or newer"), ("2.60.0", "reinstall Ray"), ("2.49.0", "reinstall")]
)
def test_an_older_ray_is_told_what_it_needs(ray: str, words: str) -> None:
    assert words in unfit(ray, ["x"]).hint


@pytest.mark.parametrize(
    ("ray", "said"),
    [
        ("2.49.0", False),
        (NEWEST_KNOWN, False),
        ("2.60.1", True),
        ("2.61.0rc1", True),
        ("3.0.0.dev0", True),
        ("?", False),
    ],
)
def test_a_ray_that_is_newer_than_all_we_know_is_a_notice(ray: str, said: bool) -> None:
    text = notice(ray)
    assert bool(text) == said
    if said:
        assert ray in text
        assert NEWEST_KNOWN in text


def test_the_oldest_is_the_one_that_is_asked_for() -> None:
    assert f'"ray>={OLDEST}"' in (ROOT / "pyproject.toml").read_text(encoding="utf-8")
