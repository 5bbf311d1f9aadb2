"""Hosts shared between batches: one holder at a time, and what was learned about a host outlives the batch."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest

from feed_assets.model import HostState
from feed_assets.store import Store, Transaction, connect
from feed_assets_tests.store.builders import LEASE, MINUTE, NOW, together
from feed_assets_tests.store.reading import only_row, rows_of

HOST = "news.example.com"


def reserve(tx: Transaction, token: str, *hosts: str, now: datetime = NOW, lease: timedelta = LEASE) -> dict[str, HostState]:
    wanted = dict.fromkeys(hosts or (HOST,), now + MINUTE)
    return {state.host: state for state in tx.hosts.reserve(token, wanted, now=now, lease=lease)}


def holder(tx: Transaction, host: str = HOST, *, now: datetime = NOW) -> str | None:
    """Whose a host is, asked by somebody who does not get it unless it is free."""
    token = reserve(tx, "probe", host, now=now)[host].busy_token
    return None if token == "probe" else token


def test_a_new_host_is_ours_with_nothing_known_of_it(tx: Transaction) -> None:
    assert reserve(tx, "a") == {HOST: HostState(HOST, busy_token="a", busy_until=NOW + LEASE, free_at=NOW + MINUTE)}


def test_nothing_wanted_is_nothing_reserved(tx: Transaction) -> None:
    assert tx.hosts.reserve("a", {}, now=NOW, lease=LEASE) == []


def test_a_host_of_another_batch_is_told_with_the_time_it_will_be_free(tx: Transaction) -> None:
    reserve(tx, "a")
    state = reserve(tx, "b", now=NOW + MINUTE)[HOST]
    assert (state.busy_token, state.busy_until, state.free_at) == ("a", NOW + LEASE, NOW + MINUTE)


def test_of_several_hosts_each_is_judged_alone(tx: Transaction) -> None:
    reserve(tx, "a", "one")
    assert {host: state.busy_token for host, state in reserve(tx, "b", "one", "two", "three").items()} == {
        "one": "a",
        "two": "b",
        "three": "b",
    }


def test_whoever_has_a_host_may_take_it_again_for_longer(tx: Transaction) -> None:
    reserve(tx, "a")
    state = reserve(tx, "a", now=NOW + MINUTE)[HOST]
    assert (state.busy_token, state.busy_until, state.free_at) == ("a", NOW + MINUTE + LEASE, NOW + 2 * MINUTE)


def test_what_was_learned_is_told_to_the_next_and_the_host_is_free(tx: Transaction) -> None:
    learned = HostState(
        HOST, last_request_at=NOW, consecutive_failures=3, blocked_until=NOW + LEASE, blocked_reason="it failed 3 times in a row"
    )
    reserve(tx, "a")
    tx.hosts.learn("a", [learned])
    state = reserve(tx, "b")[HOST]
    assert state.busy_token == "b"
    assert (state.last_request_at, state.consecutive_failures) == (NOW, 3)
    assert (state.blocked_until, state.blocked_reason) == (NOW + LEASE, "it failed 3 times in a row")


def test_learning_nothing_writes_nothing(tx: Transaction) -> None:
    reserve(tx, "a")
    tx.hosts.learn("a", [])
    assert holder(tx) == "a"


def test_a_host_that_was_never_reserved_can_be_learned_of_and_is_free(store: Store) -> None:
    with store.begin() as tx:
        tx.hosts.learn("a", [HostState("*.example.com", blocked_until=NOW + LEASE, blocked_reason="it asked us to wait")])
    row = only_row(store, "host_states")
    assert (row["host"], row["blocked_reason"], row["busy_token"]) == ("*.example.com", "it asked us to wait", None)


def test_a_second_batch_may_lengthen_the_block_of_a_domain(tx: Transaction) -> None:
    for token, minutes in (("a", 10), ("b", 60)):
        tx.hosts.learn(token, [HostState("*.example.com", blocked_until=NOW + minutes * MINUTE, blocked_reason=token)])
    assert reserve(tx, "c")[HOST].blocked_until == NOW + 60 * MINUTE


def test_another_batch_cannot_overwrite_what_the_holder_knows(tx: Transaction) -> None:
    reserve(tx, "a")
    tx.hosts.learn("b", [HostState(HOST, consecutive_failures=9, blocked_until=NOW + LEASE)])
    state = reserve(tx, "a")[HOST]
    assert (state.busy_token, state.consecutive_failures, state.blocked_until) == ("a", 0, None)


def test_a_reservation_lasts_as_long_as_it_is_renewed(tx: Transaction) -> None:
    reserve(tx, "a", lease=2 * MINUTE)
    tx.hosts.renew("a", now=NOW + MINUTE, lease=2 * MINUTE)
    assert holder(tx, now=NOW + 2.5 * MINUTE) == "a"
    assert holder(tx, now=NOW + 3 * MINUTE) is None


def test_renewing_is_for_ones_own_hosts_only(tx: Transaction) -> None:
    reserve(tx, "a", lease=2 * MINUTE)
    tx.hosts.renew("b", now=NOW + MINUTE, lease=LEASE)
    assert holder(tx, now=NOW + 2 * MINUTE) is None


def test_an_expired_reservation_is_taken_over(tx: Transaction) -> None:
    reserve(tx, "a", lease=2 * MINUTE)
    assert reserve(tx, "b", now=NOW + 2 * MINUTE - timedelta(seconds=1))[HOST].busy_token == "a"
    assert reserve(tx, "b", now=NOW + 2 * MINUTE)[HOST].busy_token == "b"


@pytest.mark.parametrize("late", ["learn", "release", "renew"])
def test_a_late_owner_cannot_touch_the_new_ones_reservation(store: Store, late: str) -> None:
    with store.begin() as tx:
        reserve(tx, "a", lease=MINUTE)
        reserve(tx, "b", now=NOW + MINUTE)
    before = only_row(store, "host_states")
    with store.begin() as tx:
        if late == "learn":
            tx.hosts.learn("a", [HostState(HOST, last_request_at=NOW, consecutive_failures=5)])
        elif late == "release":
            tx.hosts.release("a", now=NOW + 2 * MINUTE)
        else:
            tx.hosts.renew("a", now=NOW + MINUTE, lease=100 * LEASE)
    assert only_row(store, "host_states") == before
    assert before["busy_token"] == "b"


def test_release_gives_all_back_that_is_still_ours(tx: Transaction) -> None:
    reserve(tx, "a", "one", "two")
    reserve(tx, "b", "three")
    tx.hosts.release("a", now=NOW + MINUTE)
    states = reserve(tx, "c", "one", "two", "three")
    assert {host: state.busy_token for host, state in states.items()} == {"one": "c", "two": "c", "three": "b"}
    assert states["one"].last_request_at == NOW + MINUTE  # it may have been asked until then


def test_release_keeps_what_is_known_of_a_host(tx: Transaction) -> None:
    tx.hosts.learn("a", [HostState(HOST, consecutive_failures=4, blocked_until=NOW + LEASE, blocked_reason="dead")])
    tx.hosts.release("a", now=NOW)
    reserve(tx, "b")
    tx.hosts.release("b", now=NOW)
    state = reserve(tx, "c")[HOST]
    assert (state.consecutive_failures, state.blocked_until, state.blocked_reason) == (4, NOW + LEASE, "dead")


@pytest.mark.parametrize(
    ("host", "under"),
    [("news.example.com", True), ("example.com", True), ("a.b.example.com:8080", True), ("example.org", False), ("badexample.com", False)],
)
def test_the_block_of_a_domain_holds_for_its_hosts(tx: Transaction, host: str, under: bool) -> None:
    tx.hosts.learn("a", [HostState("*.example.com", blocked_until=NOW + LEASE, blocked_reason="it asked us to wait")])
    state = reserve(tx, "b", host)[host]
    assert (state.host, state.busy_token) == (host, "b")
    assert (state.blocked_until, state.blocked_reason) == ((NOW + LEASE, "it asked us to wait") if under else (None, None))


@pytest.mark.parametrize(("own", "expected"), [(5, 10), (20, 20), (None, 10)])
def test_of_two_blocks_the_longer_one_holds(tx: Transaction, own: int | None, expected: int) -> None:
    tx.hosts.learn("a", [HostState(HOST, blocked_until=NOW + own * MINUTE if own else None, blocked_reason="the host")])
    tx.hosts.learn("a", [HostState("*.example.com", blocked_until=NOW + 10 * MINUTE, blocked_reason="the domain")])
    tx.hosts.release("a", now=NOW)
    state = reserve(tx, "b")[HOST]
    assert state.blocked_until == NOW + expected * MINUTE
    assert state.blocked_reason == ("the host" if expected == own else "the domain")


def test_addresses_and_names_without_a_domain_have_blocks_of_their_own_only(tx: Transaction) -> None:
    hosts = ("127.0.0.1:8080", "[::1]:8080", "localhost")
    tx.hosts.learn("a", [HostState("*.example.com", blocked_until=NOW + LEASE)])
    assert {state.blocked_until for state in reserve(tx, "b", *hosts).values()} == {None}


def test_unblock_lifts_the_block_of_the_host_and_of_its_domain(tx: Transaction) -> None:
    for name in (HOST, "*.example.com", "other.example.com", "*.example.org"):
        tx.hosts.learn("a", [HostState(name, consecutive_failures=3, blocked_until=NOW + LEASE, blocked_reason="asked")])
    tx.hosts.release("a", now=NOW)
    tx.hosts.unblock(HOST)
    states = reserve(tx, "b", HOST, "other.example.com", "www.example.org")
    assert (states[HOST].blocked_until, states[HOST].blocked_reason, states[HOST].consecutive_failures) == (None, None, 0)
    assert states["other.example.com"].blocked_until == states["www.example.org"].blocked_until == NOW + LEASE


def test_unblock_leaves_the_holder_alone(tx: Transaction) -> None:
    reserve(tx, "a")
    tx.hosts.unblock(HOST)
    tx.hosts.unblock("nowhere.example.com")
    assert holder(tx) == "a"


def test_batches_that_ask_at_once_never_get_the_same_host(store: Store, database_url: str) -> None:
    hosts = [f"host-{number}" for number in range(20)]

    def take(token: str) -> set[str]:
        mine = connect(database_url)
        with mine.begin() as tx:
            states = reserve(tx, token, *(hosts if token in "ac" else reversed(hosts)))
        mine.close()
        return {host for host, state in states.items() if state.busy_token == token}

    taken = together(*(lambda token=token: take(token) for token in "abcd"))  # type: ignore[misc]
    assert sum(map(len, taken)) == len(set().union(*taken)) == 20
    assert {row["host"]: row["busy_token"] for row in rows_of(store, "host_states")} == {
        host: token for token, own in zip("abcd", taken, strict=True) for host in own
    }
