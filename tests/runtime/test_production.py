"""Clusters as companies run them: behind proxies, with TLS and tokens, named by URLs."""

from __future__ import annotations

import json
import shutil
import socket
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from placetui.runtime.errors import NoCluster, NotReady
from placetui.runtime.gcs import address as addresses
from placetui.runtime.gcs.address import resolve_address
from placetui.runtime.gcs.client import token_hint
from placetui.runtime.gcs.driver import MATCH_LEVEL, check_versions, is_here
from placetui.runtime.gcs.model import RayNode
from placetui.runtime.jobs.rank_spec import share_of
from placetui.runtime.launch.embedded import short_directory
from placetui.runtime.launch.matching import covers, usable
from tests.runtime.conftest import node, running_cluster

if TYPE_CHECKING:
    from tests.runtime.conftest import TestCluster

Write = Callable[..., Path]

PROXY = dict.fromkeys(("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"), "http://127.0.0.1:9")


def test_python_may_differ_in_its_patch_version_if_ray_is_told_so() -> None:
    cluster = {"ray_version": "2.60.0", "python_version": "3.11.9"}
    check_versions(cluster, "a:1", "2.60.0", "3.11.7", {MATCH_LEVEL: "minor"})
    with pytest.raises(NotReady) as found:
        check_versions(cluster, "a:1", "2.60.0", "3.11.7", {})
    assert f"{MATCH_LEVEL}=minor" in found.value.hint
    with pytest.raises(NotReady):
        check_versions(cluster, "a:1", "2.60.0", "3.10.9", {MATCH_LEVEL: "minor"})
    with pytest.raises(NotReady):
        check_versions(cluster, "a:1", "2.59.0", "3.11.9", {MATCH_LEVEL: "minor"})


@pytest.mark.parametrize("url", ["http://10.0.0.1:8265", "https://ray.example:443/x", "ray://10.0.0.1:10001"])
def test_the_head_behind_a_url(monkeypatch: pytest.MonkeyPatch, url: str) -> None:
    monkeypatch.setattr(socket, "gethostbyname", lambda host: "10.0.0.1")
    monkeypatch.setattr(addresses, "find_clusters", lambda: ["10.0.0.1:7000"])
    monkeypatch.setattr(addresses, "is_here", lambda address: address == "10.0.0.1")
    assert resolve_address("auto", {"RAY_ADDRESS": url}) == "10.0.0.1:7000"
    # Of several it cannot be said which is meant.
    monkeypatch.setattr(addresses, "find_clusters", lambda: ["10.0.0.1:7000", "10.0.0.1:7001"])
    with pytest.raises(NoCluster) as found:
        resolve_address("auto", {"RAY_ADDRESS": url})
    assert f"RAY_ADDRESS is `{url}`" in found.value.message
    assert ":6379" in found.value.hint


def test_what_is_missing_for_a_token_is_said_by_name() -> None:
    assert "set RAY_AUTH_MODE=token" in token_hint({})
    assert token_hint({"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": "x"}).startswith("RAY_AUTH_TOKEN is set, but")
    assert token_hint({"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN_PATH": "x"}).startswith("RAY_AUTH_TOKEN_PATH is set")
    assert "~/.ray/auth_token" in token_hint({"RAY_AUTH_MODE": "token"})


def test_an_address_that_can_be_bound_to_may_be_somebody_elses(monkeypatch: pytest.MonkeyPatch) -> None:
    """As with net.ipv4.ip_nonlocal_bind."""
    monkeypatch.setattr(socket.socket, "bind", lambda *_: None, raising=False)
    assert not is_here("192.0.2.77")
    assert is_here("127.0.0.1")
    assert is_here("127.0.0.3")


def test_a_long_temporary_directory_is_not_where_sockets_go() -> None:
    assert short_directory("/tmp") == "/tmp"
    assert short_directory("/var/lib/somebody/with/a/long/home/tmp") == "/tmp"


def test_nodes_that_are_about_to_go_are_not_used() -> None:
    nodes = [RayNode("a", "10.0.0.1", state="ACTIVE"), RayNode("b", "10.0.0.2", state="DRAINING")]
    assert [one.id for one in usable(nodes)] == ["a"]


def test_whether_what_is_there_covers_a_plan() -> None:
    wanted = [{"GPU": 4.0, "CPU": 4.0}, {"GPU": 8.0, "CPU": 8.0}]
    assert covers([{"GPU": 8, "CPU": 16}, {"GPU": 4, "CPU": 4}], wanted)
    assert not covers([{"GPU": 8, "CPU": 16}, {"GPU": 4, "CPU": 2}], wanted)
    assert not covers([{"GPU": 16, "CPU": 64}], wanted)
    assert covers([], [])


def test_other_accelerators_are_counted_and_asked_for_by_their_own_names() -> None:
    ascend = RayNode("a", "10.0.0.1", resources={"NPU": 8, "CPU": 8})
    assert (ascend.device, ascend.gpus, ascend.planned().accelerator) == ("NPU", 8, "NPU")
    amd = RayNode("b", "10.0.0.2", resources={"GPU": 4, "accelerator_type:AMD-Instinct-MI300X-OAM": 1})
    assert (amd.device, amd.gpus, amd.planned().accelerator) == ("GPU", 4, "AMD_GPU")
    assert (RayNode("c", "10.0.0.3", resources={"CPU": 8}).gpus, share_of("GPU", 0.8)) == (0, {"num_gpus": 0.8})
    assert share_of("NPU", 0.2) == {"num_gpus": 0, "resources": {"NPU": 0.2}}


@pytest.mark.ray
@pytest.mark.slow
def test_a_job_on_ascend(write: Write) -> None:
    """Logical ones: the head has none at all, the other node two."""
    with running_cluster([node(0), node(0, resources={"NPU": 2})]) as cluster:
        done = cluster.up(write("actor: 0-1; rollout: 0-1", nodes=2), "--job", "ascend")
        assert done.code == 0, done.err
        ranks = done.last["ranks"]
        assert [(one["component"], one["rank"], one["gpu_ids"]) for one in ranks] == [
            (component, rank, [str(rank)]) for component in ("actor", "rollout") for rank in range(2)
        ]
        call = cluster.run("call", "ascend", "actor", "report", "--json")
        found = json.loads(call.out)["results"]
        assert [found[str(rank)]["environment"]["ASCEND_RT_VISIBLE_DEVICES"] for rank in range(2)] == ["0", "1"]
        assert cluster.down("ascend").code == 0
        cluster.assert_clean()


@pytest.mark.ray
@pytest.mark.slow
def test_nodes_that_do_not_come_are_waited_for_as_long_as_asked(one_node: TestCluster, write: Write) -> None:
    topology = "placetui:\n  topology: {nodes: [{gpus: 0}, {gpus: 2}, {gpus: 2}]}\n"
    done = one_node.up(write("actor: 0-3", more=topology, nodes=3), "--wait-for-nodes", "3")
    assert done.code == 3
    assert "not ready after 3 s: the plan needs 3 nodes, 1 are there" in done.err
    one_node.assert_clean()


@pytest.mark.ray
@pytest.mark.slow
def test_a_proxy_is_for_others(one_node: TestCluster, write: Write) -> None:
    done = one_node.up(write("actor: 0"), "--job", "proxied", **PROXY)
    assert done.code == 0, done.err
    assert one_node.run("ps", **PROXY).code == 0  # type: ignore[arg-type]
    assert one_node.run("down", "proxied", "--yes", **PROXY).code == 0  # type: ignore[arg-type]
    by_url = one_node.run("ps", address=False, RAY_ADDRESS="ray://127.0.0.1:10001")
    assert by_url.code == 0 or "there are" in by_url.err or "was not found" in by_url.err


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """An authority, and a certificate of it for every node and client."""
    if shutil.which("openssl") is None:
        pytest.skip("openssl is not installed")
    place = tmp_path_factory.mktemp("tls")

    def run(*words: str) -> None:
        subprocess.run(["openssl", *words], cwd=place, check=True, capture_output=True)

    (place / "names").write_text("subjectAltName=DNS:localhost,IP:127.0.0.1," + own_addresses())
    run(*"req -x509 -newkey rsa:2048 -nodes -keyout ca.key -out ca.crt -days 2 -subj /CN=test-ca".split())
    run(*"req -newkey rsa:2048 -nodes -keyout node.key -out node.csr -subj /CN=node".split())
    run(*"x509 -req -in node.csr -CA ca.crt -CAkey ca.key -CAcreateserial -out node.crt -days 2 -extfile names".split())
    run(*"req -x509 -newkey rsa:2048 -nodes -keyout other.key -out other.crt -days 2 -subj /CN=other".split())
    return {
        "RAY_USE_TLS": "1",
        "RAY_TLS_SERVER_CERT": str(place / "node.crt"),
        "RAY_TLS_SERVER_KEY": str(place / "node.key"),
        "RAY_TLS_CA_CERT": str(place / "ca.crt"),
    }


def own_addresses() -> str:
    from tests.runtime.heads import own_address

    return f"IP:{own_address()}"


@pytest.fixture(scope="module")
def secured(certificates: dict[str, str]) -> Iterator[TestCluster]:
    with running_cluster([node(2)], **certificates) as cluster:
        yield cluster


@pytest.mark.ray
@pytest.mark.slow
def test_tls(secured: TestCluster, certificates: dict[str, str], write: Write) -> None:
    done = secured.up(write("actor: 0-1"), "--job", "tls", **certificates)
    assert done.code == 0, done.err
    assert secured.run("down", "tls", "--yes", **certificates).code == 0  # type: ignore[arg-type]
    without = secured.run("ps")
    assert without.code == 3
    assert "uses TLS, and RAY_USE_TLS is not set here" in without.err
    missing = secured.run("ps", **{**certificates, "RAY_TLS_SERVER_KEY": "/nowhere"})  # type: ignore[arg-type]
    assert missing.code == 3
    assert "RAY_TLS_SERVER_KEY" in missing.err
    other = str(Path(certificates["RAY_TLS_CA_CERT"]).with_name("other.crt"))
    wrong = secured.run("ps", **{**certificates, "RAY_TLS_CA_CERT": other})  # type: ignore[arg-type]
    assert wrong.code == 3
    assert "RAY_TLS_CA_CERT" in wrong.err


@pytest.mark.ray
@pytest.mark.slow
def test_tokens(write: Write) -> None:
    ours = {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": "t" * 40}
    with running_cluster([node(2)], **ours) as cluster:
        done = cluster.up(write("actor: 0-1"), "--job", "token", **ours)
        assert done.code == 0, done.err
        assert cluster.run("down", "token", "--yes", **ours).code == 0  # type: ignore[arg-type]
        without = cluster.run("ps")
        assert without.code == 3
        assert "requires a token" in without.err
        assert "RAY_AUTH_MODE=token" in without.err
        wrong = cluster.run("ps", **{**ours, "RAY_AUTH_TOKEN": "w" * 40})  # type: ignore[arg-type]
        assert wrong.code == 3
        assert "RAY_AUTH_TOKEN is set, but it is not the cluster's token" in wrong.err
