"""A head of plain values, for tests that need no cluster."""

from __future__ import annotations

from typing import Any

from placetui.frameworks.cluster_facts import RayJobSeen
from placetui.runtime.errors import Unreachable
from placetui.runtime.gcs.client import Head
from placetui.runtime.gcs.model import RayActor, RayGroup, RayNode
from placetui.runtime.policy import Policy


class FakeHead(Head):
    """Keeps actors, groups and values in this process; `failures` calls in between do not come through."""

    def __init__(self, *actors: RayActor, policy: Policy | None = None) -> None:
        self.address = "fake:1"
        self.policy = policy or Policy(poll=0.001, outage=5.0)
        self.outage = 0.0
        self.check = bool
        self.calls = self.rows = 0
        self.living = list(actors)
        self.dead: list[RayActor] = []
        self.standing: list[RayGroup] = []
        self.members: tuple[RayNode, ...] = (RayNode("n", "10.0.0.1", resources={"GPU": 8}),)
        self.values: dict[bytes, dict[bytes, bytes]] = {}
        self.every = 0
        """Every so many calls, one does not come through."""

    def _call_once(self, method: str, **fields: Any) -> Any:
        self.calls += 1
        if self.every and self.calls % self.every == 1:
            raise Unreachable("the head does not answer")
        return fields

    def nodes(self) -> tuple[RayNode, ...]:
        self._call("")
        return self.members

    def available(self) -> dict[str, dict[str, float]]:
        self._call("")
        return {one.id: dict(one.resources) for one in self.members}

    def actors(self, **filters: Any) -> tuple[RayActor, ...]:
        self._call("")
        found = tuple(
            one
            for one in (*self.living, *self.dead)
            if all(getattr(one, name) == value for name, value in filters.items())
        )
        self.rows += len(found)
        return found

    def jobs(self) -> tuple[RayJobSeen, ...]:
        self._call("")
        return ()

    def named_actor(self, name: str, namespace: str) -> RayActor | None:
        self._call("")
        return next((one for one in self.living if (one.name, one.namespace) == (name, namespace)), None)

    def actor_names(self, namespace: str) -> list[str]:
        self._call("")
        return [one.name for one in self.living if one.namespace == namespace]

    def named_group(self, name: str, namespace: str) -> RayGroup | None:
        self._call("")
        return next((one for one in self.standing if one.name == name), None)

    def groups(self) -> tuple[RayGroup, ...]:
        self._call("")
        self.rows += len(self.standing)
        return tuple(self.standing)

    def put(self, namespace: bytes, key: bytes, value: bytes, *, overwrite: bool) -> bool:
        self._call("")
        store = self.values.setdefault(namespace, {})
        added = key not in store
        if added or overwrite:
            store[key] = value
        return added

    def get(self, namespace: bytes, key: bytes) -> bytes | None:
        self._call("")
        return self.values.get(namespace, {}).get(key)

    def get_all(self, namespace: bytes) -> dict[bytes, bytes]:
        self._call("")
        return dict(self.values.get(namespace, {}))

    def keys(self, namespace: bytes, prefix: bytes = b"") -> list[bytes]:
        self._call("")
        return [key for key in self.values.get(namespace, {}) if key.startswith(prefix)]

    def delete(self, namespace: bytes, key: bytes, *, prefix: bool = False) -> None:
        self._call("")
        store = self.values.get(namespace, {})
        for one in [one for one in store if one == key or (prefix and one.startswith(key))]:
            del store[one]

    def kill_actor(self, actor: str, *, no_restart: bool = True) -> None:
        self._call("")
        self.living = [one for one in self.living if one.id != actor]

    def remove_group(self, group: str) -> None:
        self._call("")
        self.standing = [one for one in self.standing if one.id != group]
