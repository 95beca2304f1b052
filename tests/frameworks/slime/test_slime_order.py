from __future__ import annotations

import socket
import subprocess
import sys
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from placetui.frameworks.slime.order import sort_key


def refuse(host: str) -> str:
    raise socket.gaierror(f"no such host: {host}")


def not_called(host: str) -> str:
    raise AssertionError(f"resolved {host}")


def order(entries: list[tuple[int, str, int | str]], hosts: dict[str, str] | None = None) -> list[int]:
    def resolve(host: str) -> str:
        return (hosts or {})[host] if host in (hosts or {}) else refuse(host)

    return [index for index, _, _ in sorted(entries, key=lambda entry: sort_key(entry, resolve))]


def test_addresses_order_as_numbers_then_gpus() -> None:
    entries: list[tuple[int, str, int | str]] = [
        (0, "10.0.0.10", 0),
        (1, "10.0.0.9", 1),
        (2, "10.0.0.9", 0),
        (3, "9.0.0.200", 7),
    ]
    assert order(entries) == [3, 2, 1, 0]


def test_the_key_is_the_address_in_parts_and_the_id() -> None:
    assert sort_key((5, "10.0.0.12", "3"), not_called) == ([10, 0, 0, 12], 3)


def test_ids_that_are_text_order_as_numbers() -> None:
    entries: list[tuple[int, str, int | str]] = [(i, "10.0.0.1", str(i)) for i in range(16)]
    assert order(entries) == list(range(16))


def test_names_order_by_their_address() -> None:
    hosts = {"beta": "10.0.0.1", "alpha": "10.0.0.2"}
    assert order([(0, "alpha", 0), (1, "beta", 0), (2, "10.0.0.3", 0)], hosts) == [1, 0, 2]


def test_names_without_address_order_by_character() -> None:
    assert order([(0, "node2", 0), (1, "node10", 0)]) == [1, 0]
    assert sort_key((0, "ab", 1), refuse) == ([97, 98], 1)


def test_ipv6_orders_by_character_without_asking_anyone() -> None:
    assert sort_key((0, "::1", 0), not_called) == ([58, 58, 49], 0)


@pytest.mark.parametrize("failure", [OSError(), UnicodeError("label too long"), TimeoutError()])
def test_a_resolver_that_fails_in_any_way_falls_back(failure: Exception) -> None:
    def fail(host: str) -> str:
        raise failure

    assert sort_key((0, "a", 0), fail) == ([97], 0)


def test_a_resolver_that_answers_nonsense_falls_back() -> None:
    assert sort_key((0, "a", 0), lambda host: "fe80::1") == ([97], 0)


def test_ids_that_are_no_numbers_come_last_by_text() -> None:
    entries: list[tuple[int, str, int | str]] = [
        (0, "10.0.0.1", "MIG-b"),
        (1, "10.0.0.1", 12),
        (2, "10.0.0.1", "MIG-a"),
        (3, "10.0.0.1", "2"),
        (4, "10.0.0.2", 0),
    ]
    assert order(entries) == [3, 1, 2, 0, 4]


anything: st.SearchStrategy[Any] = st.one_of(st.integers(), st.text(), st.none(), st.floats(), st.booleans())


@given(st.lists(st.tuples(st.integers(), st.one_of(st.text(), st.ip_addresses().map(str)), anything)))
def test_any_mixture_has_one_order(entries: list[tuple[int, str, Any]]) -> None:
    def key(entry: tuple[int, str, Any]) -> Any:
        return sort_key(entry, refuse)

    once = [key(entry) for entry in sorted(entries, key=key)]
    backwards = entries[::-1]
    assert [key(entry) for entry in sorted(backwards, key=key)] == once


def test_importing_it_does_not_import_socket() -> None:
    program = "import sys; import placetui.frameworks.slime.order; sys.exit('socket' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
