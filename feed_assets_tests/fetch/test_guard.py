"""The address guard: only the open internet, on every hop, in whatever spelling."""

from __future__ import annotations

import pytest

from feed_assets.fetch import guard
from feed_assets.fetch.guard import is_public
from feed_assets.model import Outcome
from feed_assets_tests.fetch.conftest import Fetch
from feed_assets_tests.support.feed_server import Answer, FeedServer

NOT_PUBLIC = {
    "loopback": ["127.0.0.1", "127.255.255.254", "::1"],
    "unspecified": ["0.0.0.0", "0.1.2.3", "::"],
    "private": ["10.0.0.1", "172.16.0.1", "172.31.255.255", "192.168.1.1", "fc00::1", "fd12:3456::1"],
    "carrier-grade NAT": ["100.64.0.1", "100.127.255.254"],
    "link-local": ["169.254.1.1", "fe80::1", "fe80::1%eth0"],
    "metadata": ["169.254.169.254", "100.100.100.200", "fd00:ec2::254"],
    "documentation and tests": ["192.0.2.1", "198.51.100.1", "203.0.113.1", "198.18.0.1", "2001:db8::1"],
    "multicast and broadcast": ["224.0.0.1", "239.255.255.250", "255.255.255.255", "ff02::1", "ff0e::1"],
    "reserved": ["240.0.0.1"],
    "IPv4-mapped": ["::ffff:127.0.0.1", "::ffff:10.0.0.1", "::ffff:169.254.169.254", "::ffff:a9fe:a9fe"],
    "IPv4-compatible": ["::127.0.0.1", "::10.0.0.1"],
    "NAT64": ["64:ff9b::127.0.0.1", "64:ff9b::a00:1", "64:ff9b::169.254.169.254"],
    "local NAT64": ["64:ff9b:1::a00:1", "64:ff9b:1:a00:0:100::"],
    "6to4": ["2002:7f00:1::", "2002:a00:1::1", "2002:a9fe:a9fe::1"],
    "Teredo": ["2001:0:808:808::80ff:fffe"],
}
PUBLIC = [
    "8.8.8.8",
    "1.1.1.1",
    "172.32.0.1",
    "100.128.0.1",
    "2606:4700:4700::1111",
    "::ffff:8.8.8.8",
    "64:ff9b::808:808",
    "2002:808:808::1",
]
SPELLINGS = ["127.0.0.1", "localhost", "127.1", "2130706433", "0x7f.0.0.1", "0177.0.0.1", "0.0.0.0", "[::ffff:127.0.0.1]", "[::1]"]


@pytest.mark.parametrize(("kind", "address"), [(kind, address) for kind, found in NOT_PUBLIC.items() for address in found])
def test_addresses_that_are_not_of_the_open_internet(kind: str, address: str) -> None:
    assert not is_public(address), kind


@pytest.mark.parametrize("address", ["fec0::1", "64:ff9b:1:a00:0:100:808:808"], ids=["site-local", "10.0.0.1 in a local NAT64 prefix"])
def test_addresses_that_only_look_like_the_open_internet(address: str) -> None:
    assert not is_public(address)


@pytest.mark.parametrize("address", PUBLIC)
def test_addresses_of_the_open_internet(address: str) -> None:
    assert is_public(address)


@pytest.mark.parametrize("host", SPELLINGS)
def test_loopback_is_not_asked_in_any_spelling(fetch: Fetch, server: FeedServer, host: str) -> None:
    url = server.publish("/feed", "<rss/>").replace("127.0.0.1", host)
    result = fetch(url, ALLOW_PRIVATE_NETWORKS="false")
    assert result.outcome is Outcome.PERMANENT_ERROR
    assert result.reason and "is not a public address; FEED_ASSETS_ALLOW_PRIVATE_NETWORKS=true allows it" in result.reason
    assert server.asked == []


def test_the_guard_lets_checked_addresses_through(fetch: Fetch, server: FeedServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guard, "is_public", lambda address: address == "127.0.0.1")
    result = fetch(server.publish("/feed", "<rss/>"), ALLOW_PRIVATE_NETWORKS="false")
    assert (result.outcome, result.body) == (Outcome.SUCCESS, b"<rss/>")


def test_a_redirect_is_checked_like_the_first_address(fetch: Fetch, server: FeedServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guard, "is_public", lambda address: address == "127.0.0.1")
    inside = server.publish("/inside", "<rss/>").replace("127.0.0.1", "127.0.0.2")
    server.answers["/feed"] = Answer(302, b"", {"Location": inside})
    result = fetch(server.base + "/feed", ALLOW_PRIVATE_NETWORKS="false")
    assert result.outcome is Outcome.PERMANENT_ERROR
    assert result.reason and result.reason.startswith("127.0.0.2 is at 127.0.0.2, which is not a public address")
    assert [asked.path for asked in server.asked] == ["/feed"]


def test_behind_the_guard_a_refused_connection_reads_as_usual(fetch: Fetch, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guard, "is_public", lambda address: True)
    assert fetch("http://127.0.0.1:9/", ALLOW_PRIVATE_NETWORKS="false").reason == "connection refused"
