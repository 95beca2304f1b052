"""How the address of a head is written."""

from __future__ import annotations

import pytest

from placetui.observe.operations import NoAddress, split_address


@pytest.mark.parametrize(
    ("text", "host", "port"),
    [
        ("10.0.0.1:6379", "10.0.0.1", 6379),
        ("head-0.cluster.example:1", "head-0.cluster.example", 1),
        ("[fe80::1]:65535", "fe80::1", 65535),
    ],
)
def test_addresses(text: str, host: str, port: int) -> None:
    assert split_address(text) == (host, port)


@pytest.mark.parametrize(
    "text",
    ["", "foo", "foo:", ":1", "[]:1", "[x:1", "x]:1", "x:0", "x:70000", "x:-1", "x:y", "x:٣", "x y:1", "http://x:1"],
)
def test_what_is_none(text: str) -> None:
    with pytest.raises(NoAddress, match=r"^not HOST:PORT$") as caught:
        split_address(text)
    assert "10.0.0.1:6379" in caught.value.hint


def test_an_ipv6_address_needs_its_brackets() -> None:
    with pytest.raises(NoAddress) as caught:
        split_address("fe80::1:6379")
    assert caught.value.hint == "put brackets around an IPv6 address: [fe80::1]:6379"


def test_the_client_server_is_not_the_head() -> None:
    with pytest.raises(NoAddress, match="client server") as caught:
        split_address("ray://10.0.0.1:10001")
    assert "HOST:6379" in caught.value.hint
