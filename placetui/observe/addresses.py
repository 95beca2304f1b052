"""How the address of a cluster's head is written. Whether somebody is there is another question."""

from __future__ import annotations


class NoAddress(ValueError):
    """Something that is no address; the message goes on after “it is”."""

    def __init__(self, message: str, hint: str) -> None:
        super().__init__(message)
        self.hint = hint
        """How to write it."""


def split_address(text: str) -> tuple[str, int]:
    """Host, without the brackets of IPv6, and port of a `HOST:PORT`.

    Raises:
        NoAddress: it is none.
    """
    if text.startswith("ray://"):
        raise NoAddress("an address of Ray's client server", "name the head itself, as in --address HOST:6379")
    host, _, port = text.rpartition(":")
    bare = not (host.startswith("[") and host.endswith("]"))
    host = host if bare else host[1:-1]
    # Digits of other scripts are no port.
    is_port = port.isascii() and port.isdigit() and 0 < int(port) < 65536
    if bare and host.count(":") > 1 and is_port:
        raise NoAddress("not HOST:PORT", f"put brackets around an IPv6 address: [{host}]:{port}")
    if not (host and is_port) or any(sign in "/[]" or sign.isspace() for sign in host) or (bare and ":" in host):
        raise NoAddress("not HOST:PORT", "write for example 10.0.0.1:6379")
    return host, int(port)
