"""`node_ip_and_free_port`, as slime's documents have it."""

from __future__ import annotations

import socket
from ipaddress import ip_address

import pytest

import placetui


def taken_port() -> socket.socket:
    listener = socket.socket()
    listener.bind(("", 0))
    listener.listen(1)
    return listener


def test_a_taken_port_is_passed_over() -> None:
    with taken_port() as listener:
        port = listener.getsockname()[1]
        address, found = placetui.node_ip_and_free_port(port)
    assert str(ip_address(address)) == address
    assert found > port


def test_a_block_lies_behind_what_is_taken() -> None:
    with taken_port() as listener:
        port = listener.getsockname()[1]
        _, found = placetui.node_ip_and_free_port(max(1024, port - 2), consecutive=4)
    assert not found <= port < found + 4


def test_there_is_an_end_of_ports() -> None:
    with pytest.raises(RuntimeError, match="consecutive free ports"):
        placetui.node_ip_and_free_port(65_530, consecutive=10)
