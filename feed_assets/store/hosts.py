"""`host_states`: which batch may ask a host now, and which hosts are to be left alone."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import fields, replace
from datetime import datetime, timedelta

from feed_assets.model import HostState
from feed_assets.store.engine import Connection
from feed_assets.urls import domain_of

_LEARNED = ("host", "last_request_at", "consecutive_failures", "blocked_until", "blocked_reason")


class Hosts:
    def __init__(self, connection: Connection) -> None:
        self._db = connection

    def reserve(self, token: str, wanted: Mapping[str, datetime], *, now: datetime, lease: timedelta) -> list[HostState]:
        """Take these hosts (host -> when we expect to be done), unless another batch has them. Gives the state of each:
        `busy_token` tells whose it is now."""
        if not wanted:
            return []
        self._db.run("expire_hosts", now=now)
        columns = ("host", "busy_token", "busy_until", "free_at")
        self._db.write("reserve_hosts", columns, ((host, token, now + lease, free_at) for host, free_at in wanted.items()))
        domains = {host: f"*.{domain}" for host in wanted if (domain := domain_of(f"http://{host}/"))}
        rows = self._db.rows("get_hosts", hosts=sorted({*wanted, *domains.values()}))
        states = {row["host"]: HostState(**{column.name: row[column.name] for column in fields(HostState)}) for row in rows}
        return [_under(states[host], states.get(domains.get(host, ""))) for host in wanted]

    def renew(self, token: str, *, now: datetime, lease: timedelta) -> None:
        self._db.run("renew_hosts", token=token, until=now + lease)

    def learn(self, token: str, states: Iterable[HostState]) -> None:
        """Store what was learned about hosts, and give them back where they are ours."""
        if self._db.write("learn_hosts", (*_LEARNED, "busy_token"), ([*(getattr(s, name) for name in _LEARNED), token] for s in states)):
            self._db.run("free_new_hosts", token=token)

    def release(self, token: str, *, now: datetime) -> None:
        """Give back all that is still ours."""
        self._db.run("release_hosts", token=token, now=now)

    def unblock(self, host: str) -> None:
        """Ask the host again, whatever it said: a person wants it."""
        domain = domain_of(f"http://{host}/")
        self._db.run("unblock_hosts", hosts=[host, *([f"*.{domain}"] if domain else [])])


def _under(state: HostState, domain: HostState | None) -> HostState:
    """A host under what holds for its whole domain."""
    if domain is None or domain.blocked_until is None or (state.blocked_until and state.blocked_until >= domain.blocked_until):
        return state
    return replace(state, blocked_until=domain.blocked_until, blocked_reason=domain.blocked_reason)
