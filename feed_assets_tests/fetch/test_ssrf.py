"""Nobody makes us ask our own network: not by spelling, not by redirect, not by DNS.

Loopback is tried for real, against listeners that would notice. Every other network exists only in a resolver and a connector
of the tests' own, so that no packet can leave this machine, whatever the package does.
"""

from __future__ import annotations

import ipaddress
import select
import socket
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from feed_assets.errors import ForbiddenAddress
from feed_assets.fetch import Fetcher
from feed_assets.fetch.guard import Address, Guard, is_public, open_socket
from feed_assets.model import FetchRequest, FetchResult, Outcome
from feed_assets_tests.conftest import make_settings
from feed_assets_tests.support.clock import Clock
from feed_assets_tests.support.feed_server import Answer, FeedServer

PUBLIC, OTHER_PUBLIC = "93.184.216.34", "2606:2800:220:1::1"  # only ever read, never connected to
REFUSED = "is not a public address; FEED_ASSETS_ALLOW_PRIVATE_NETWORKS=true allows it"


@dataclass
class Network:
    """A made-up internet. Public addresses lead to loopback, at the same port; so does loopback; the rest leads nowhere."""

    names: dict[str, list[list[str]]] = field(default_factory=dict)  # the answers of one lookup after the other; the last one stays
    down: set[str] = field(default_factory=set)
    looked_up: list[str] = field(default_factory=list)
    connected: list[str] = field(default_factory=list)

    def resolve(self, host: str, port: int) -> list[Address]:
        self.looked_up.append(host)
        answers = self.names.get(host.rstrip(".").lower())
        if answers is None:
            found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_NUMERICHOST)  # asks no name server
            return [Address(*each) for each in found]
        return [_address(ip, port) for ip in (answers.pop(0) if len(answers) > 1 else answers[0])]

    def connect(self, address: Address, seconds: float) -> socket.socket:
        self.connected.append(address.ip)
        ip = ipaddress.ip_address(address.ip.partition("%")[0])
        if address.ip in self.down:
            raise ConnectionRefusedError
        if is_public(address.ip):
            return open_socket(_address("127.0.0.1", address.address[1]), seconds)
        if ip.is_loopback or ip.is_unspecified or (ip.version == 6 and ip.ipv4_mapped in ipaddress.ip_network("127.0.0.0/8")):
            return open_socket(address, seconds)
        raise ConnectionRefusedError("nothing leaves this machine")

    def guard(self, *, allow_private: bool = False) -> Guard:
        return Guard(allow_private=allow_private, resolve=self.resolve, connect=self.connect)


def _address(ip: str, port: int) -> Address:
    family = socket.AF_INET6 if ":" in ip else socket.AF_INET
    return Address(family, socket.SOCK_STREAM, 0, "", (ip, port, 0, 0) if ":" in ip else (ip, port))


@pytest.fixture
def network() -> Network:
    return Network({"localhost": [["127.0.0.1", "::1"]], "allowed.test": [[PUBLIC]]})


Get = Callable[..., FetchResult]


@pytest.fixture
def get(network: Network, tmp_path: Path, clock: Clock) -> Get:
    def once(url: str, *, allow_private: bool = False, patience: float = 2) -> FetchResult:
        settings = make_settings(tmp_path, ALLOW_PRIVATE_NETWORKS=str(allow_private), REQUEST_TIMEOUT_SECONDS=patience)
        with Fetcher(settings, clock, network.guard(allow_private=allow_private)) as fetcher:
            return fetcher.fetch(FetchRequest("news", url))

    return once


@dataclass
class Inside:
    """Listeners on 127.0.0.1 and on ::1, at one port, that nobody should find."""

    port: int
    listeners: list[socket.socket]

    def visitors(self) -> int:
        """How many connections were opened since the last time."""
        count = 0
        while ready := select.select(self.listeners, [], [], 0)[0]:
            for listener in ready:
                listener.accept()[0].close()
                count += 1
        return count


@pytest.fixture(scope="module")
def running_inside() -> Iterator[Inside]:
    listeners = [socket.create_server(("127.0.0.1", 0))]
    port = listeners[0].getsockname()[1]
    with suppress(OSError):  # there are machines without IPv6
        listeners.append(socket.create_server(("::1", port), family=socket.AF_INET6))
    yield Inside(port, listeners)
    for listener in listeners:
        listener.close()


@pytest.fixture
def inside(running_inside: Inside) -> Inside:
    running_inside.visitors()
    return running_inside


LOOPBACK = [
    "127.0.0.1",
    "127.1",
    "127.0.1",
    "127.000.000.001",
    "2130706433",
    "017700000001",
    "0x7f000001",
    "0X7F000001",
    "0177.0.0.1",
    "0177.1",
    "00000177.0.0.1",
    "0x7f.1",
    "0x7f.0x0.0x0.0x1",
    "127.0x1",
    "0.0.0.0",
    "0",
    "0x0",
    "[::]",
    "[::1]",
    "[0:0:0:0:0:0:0:1]",
    "[0000:0000:0000:0000:0000:0000:0000:0001]",
    "[::0.0.0.1]",
    "[::ffff:127.0.0.1]",
    "[::FFFF:7F00:1]",
    "[0:0:0:0:0:ffff:7f00:0001]",
    "localhost",
    "LOCALHOST",
    "LocalHost",
    "localhost.",
    "example.com@127.0.0.1",
    "example.com:80@127.0.0.1",
    "user:p%40ss@example.com@127.0.0.1",
    "example.com%2f@127.0.0.1",
]
ODD_SPELLINGS = [
    "\uff11\uff12\uff17.0.0.1",
    "127\u30020\u30020\u30021",
    "\u2460\u2461\u2466.\u24ea.\u24ea.\u2460",
    "\u24db\u24de\u24d2\u24d0\u24db\u24d7\u24de\u24e2\u24e3",
    "127.0.0.1.",
    "127.0.0.1..",
    ".127.0.0.1",
    "[::127.0.0.1]",
    "[127.0.0.1]",
    "[::1",
    "127.0.0.1%00.example.com",
    "127%2e0%2e0%2e1",
    "%6cocalhost",
    "127.0.0.1\\@example.com",
    "example.com\\@127.0.0.1",
    "example.com#@127.0.0.1",
    "example.com?@127.0.0.1",
    "127.0.0.1 example.com",
    "127.0.\n0.1",
    "127.0.0.1\t",
    "4294967297",
    "127.0.0.0x",
    "0x7f.0.0.0x1.",
]


@pytest.mark.parametrize("host", LOOPBACK, ids=ascii)
def test_no_spelling_of_loopback_is_connected_to(get: Get, network: Network, inside: Inside, host: str) -> None:
    result = get(f"http://{host}:{inside.port}/feed")
    assert (result.outcome, REFUSED in str(result.reason)) == (Outcome.PERMANENT_ERROR, True), result.reason
    assert (network.connected, inside.visitors()) == ([], 0)


@pytest.mark.parametrize("host", LOOPBACK, ids=ascii)
def test_every_spelling_leads_to_loopback_when_private_networks_are_allowed(get: Get, inside: Inside, host: str) -> None:
    if "[" in host and len(inside.listeners) == 1:
        pytest.skip("there is no IPv6 on this machine")
    get(f"http://{host}:{inside.port}/feed", allow_private=True, patience=0.1)
    assert inside.visitors() == 1


@pytest.mark.parametrize("host", ODD_SPELLINGS, ids=ascii)
def test_what_only_looks_like_loopback_is_not_connected_to(get: Get, network: Network, inside: Inside, host: str) -> None:
    result = get(f"http://{host}:{inside.port}/feed")
    assert not result.outcome.ok and result.reason
    assert (network.connected, inside.visitors()) == ([], 0)


@pytest.mark.parametrize("scheme", ["file", "ftp", "gopher", "dict", "ldap", "http+unix", "httpx", "ws", ""])
def test_no_scheme_but_http_and_https_is_asked_for(get: Get, network: Network, inside: Inside, scheme: str) -> None:
    result = get(f"{scheme}://127.0.0.1:{inside.port}/feed", allow_private=True)
    assert result.outcome is Outcome.PERMANENT_ERROR
    assert (network.looked_up, network.connected, inside.visitors()) == ([], [], 0)


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
@pytest.mark.parametrize("host", LOOPBACK, ids=ascii)
def test_no_redirect_leads_to_loopback(get: Get, network: Network, inside: Inside, server: FeedServer, host: str, status: int) -> None:
    location = f"http://{host}:{inside.port}/feed".encode().decode("latin-1")
    server.answers["/feed"] = Answer(status, b"", {"Location": location})
    result = get(server.base.replace("127.0.0.1", "allowed.test") + "/feed")
    assert (result.outcome, REFUSED in str(result.reason)) == (Outcome.PERMANENT_ERROR, True), result.reason
    assert (network.connected, inside.visitors()) == ([PUBLIC], 0)


@pytest.mark.parametrize("host", ODD_SPELLINGS, ids=ascii)
def test_no_redirect_leads_to_what_looks_like_loopback(get: Get, network: Network, inside: Inside, server: FeedServer, host: str) -> None:
    location = f"http://{host}:{inside.port}/feed".encode().decode("latin-1")
    server.answers["/feed"] = Answer(302, b"", {"Location": location})
    assert not get(server.base.replace("127.0.0.1", "allowed.test") + "/feed").outcome.ok
    assert (network.connected, inside.visitors()) == ([PUBLIC], 0)


def test_a_redirect_to_an_international_name_is_followed(get: Get, network: Network, server: FeedServer) -> None:
    network.names["xn--mnchen-3ya.test"] = [[PUBLIC]]
    location = server.publish("/new", "<rss/>").replace("127.0.0.1", "m\u00fcnchen.test")
    server.answers["/feed"] = Answer(302, b"", {"Location": location.encode().decode("latin-1")})
    assert get(server.base.replace("127.0.0.1", "allowed.test") + "/feed").outcome is Outcome.SUCCESS
    assert network.looked_up == ["allowed.test", "xn--mnchen-3ya.test"]


def test_a_redirect_to_a_name_of_this_network_is_refused(get: Get, network: Network, inside: Inside, server: FeedServer) -> None:
    network.names["inside.test"] = [["127.0.0.1"]]
    server.answers["/feed"] = Answer(302, b"", {"Location": "/again"})
    server.answers["/again"] = Answer(302, b"", {"Location": f"//inside.test:{inside.port}/"})
    result = get(server.base.replace("127.0.0.1", "allowed.test") + "/feed")
    assert result.reason == f"inside.test is at 127.0.0.1, which {REFUSED}"
    assert (set(network.connected), inside.visitors()) == ({PUBLIC}, 0)


FORBIDDEN = {
    "this network": ["0.0.0.0", "0.255.255.255"],
    "private": ["10.0.0.1", "10.255.255.255", "172.16.0.1", "172.31.255.255", "192.168.0.1", "192.168.255.255"],
    "loopback": ["127.0.0.1", "127.255.255.255", "::1", "::"],
    "link-local and metadata": ["169.254.0.1", "169.254.169.254", "169.254.170.2", "169.254.255.255"],
    "shared": ["100.64.0.1", "100.100.100.200", "100.127.255.255"],
    "protocol assignments": ["192.0.0.1", "192.0.0.9", "192.0.0.192", "192.88.99.1"],
    "benchmarks": ["198.18.0.1", "198.19.255.255"],
    "multicast": ["224.0.0.1", "233.252.0.1", "239.255.255.250", "ff02::1", "ff05::2", "ff0e::1"],
    "reserved and broadcast": ["240.0.0.1", "254.1.1.1", "255.255.255.255"],
    "documentation": ["192.0.2.1", "198.51.100.1", "203.0.113.1", "2001:db8::1", "3fff::1"],
    "unique local": ["fc00::1", "fd00:ec2::254", "fd20:ce::254", "fdff:ffff::1"],
    "IPv6 link-local": ["fe80::1", "fe80::1%eth0", "febf::1"],
    "site-local": ["fec0::1", "feff::1"],
    "IPv4-mapped": ["::ffff:10.0.0.1", "::ffff:169.254.169.254", "::ffff:0.0.0.0"],
    "IPv4-compatible": ["::10.0.0.1", "::169.254.169.254"],
    "IPv4-translated": ["::ffff:0:10.0.0.1"],
    "NAT64": ["64:ff9b::10.0.0.1", "64:ff9b::169.254.169.254", "64:ff9b::127.0.0.1", "64:ff9b::192.0.2.1"],
    "local NAT64": ["64:ff9b:1::10.0.0.1", "64:ff9b:1::8.8.8.8", "64:ff9b:1:ffff::1"],
    "6to4": ["2002:a00:1::1", "2002:7f00:1::", "2002:a9fe:a9fe::1", "2002:c0a8:101::1", "2002:e000:1::1"],
    "Teredo": ["2001::1", "2001:0:53aa:64c:0:fbfe:f5ff:fffe"],
    "ORCHID and other assignments": ["2001:10::1", "2001:20::1", "2001:2::1", "2001:1::1"],
    "ISATAP": ["2606:4700::5efe:10.0.0.1", "2606:4700::200:5efe:192.168.0.1", "fe80::5efe:10.0.0.1"],
    "discard and segment routing": ["100::1", "5f00::1"],
    "unassigned": ["4000::1", "8000::1", "e000::1"],
}
EVERY_FORBIDDEN = [pytest.param(address, id=f"{kind}: {address}") for kind, found in FORBIDDEN.items() for address in found]


@pytest.mark.parametrize("address", EVERY_FORBIDDEN)
def test_a_name_at_a_forbidden_address_is_not_connected_to(network: Network, address: str) -> None:
    network.names["inside.test"] = [[address]]
    with pytest.raises(ForbiddenAddress, match=r"inside\.test is at .*, which is not a public address"):
        network.guard().addresses("inside.test", 80)


@pytest.mark.parametrize("address", [found[0] for found in FORBIDDEN.values()])
@pytest.mark.parametrize("scheme", ["http", "https"])
def test_a_forbidden_address_in_a_url_is_refused(get: Get, network: Network, scheme: str, address: str) -> None:
    result = get(f"{scheme}://[{address}]/" if ":" in address else f"{scheme}://{address}/")
    assert (result.outcome, REFUSED in str(result.reason)) == (Outcome.PERMANENT_ERROR, True), result.reason
    assert network.connected == []


@pytest.mark.parametrize("address", [found[-1] for found in FORBIDDEN.values()])
def test_private_networks_are_open_when_they_are_allowed(network: Network, address: str) -> None:
    network.names["inside.test"] = [[address]]
    assert [each.ip for each in network.guard(allow_private=True).addresses("inside.test", 80)] == [address]


def test_the_platform_address_of_azure_is_refused() -> None:
    assert not is_public("168.63.129.16")


@pytest.mark.parametrize("addresses", [["10.0.0.1", PUBLIC, "fd00::1"], [PUBLIC, "127.0.0.1"], ["::1", PUBLIC]], ids=str)
def test_of_a_name_with_public_and_private_addresses_only_the_public_are_connected_to(
    get: Get, network: Network, server: FeedServer, addresses: list[str]
) -> None:
    network.names["mixed.test"] = [addresses]
    server.publish("/feed", "<rss/>")
    assert get(server.base.replace("127.0.0.1", "mixed.test") + "/feed").outcome is Outcome.SUCCESS
    assert network.connected == [PUBLIC]


def test_a_private_address_is_not_tried_when_the_public_one_is_down(get: Get, network: Network, inside: Inside) -> None:
    network.names["mixed.test"], network.down = [["127.0.0.1", PUBLIC, "::1"]], {PUBLIC}
    result = get(f"http://mixed.test:{inside.port}/")
    assert (result.outcome, result.reason) == (Outcome.TEMPORARY_ERROR, "connection refused")
    assert (network.connected, inside.visitors()) == ([PUBLIC], 0)


def test_the_next_address_is_tried_when_one_is_down(get: Get, network: Network, server: FeedServer) -> None:
    network.names["two.test"], network.down = [[OTHER_PUBLIC, PUBLIC]], {OTHER_PUBLIC}
    server.publish("/feed", "<rss/>")
    assert get(server.base.replace("127.0.0.1", "two.test") + "/feed").outcome is Outcome.SUCCESS
    assert network.connected == [OTHER_PUBLIC, PUBLIC]


def test_a_name_with_very_many_addresses_does_not_keep_us_busy(get: Get, network: Network) -> None:
    many = [f"93.184.216.{n}" for n in range(1, 200)]
    network.names["many.test"], network.down = [many], set(many)
    assert get("http://many.test/").reason == "connection refused"
    assert 1 <= len(network.connected) <= 10


def test_a_name_without_addresses_is_an_error(get: Get, network: Network) -> None:
    network.names["empty.test"] = [[]]
    assert not get("http://empty.test/").outcome.ok
    assert network.connected == []


def test_what_is_connected_to_is_what_was_checked(get: Get, network: Network, inside: Inside, server: FeedServer) -> None:
    network.names["rebinding.test"] = [[PUBLIC], ["127.0.0.1"]]
    server.publish("/feed", "<rss/>")
    assert get(server.base.replace("127.0.0.1", "rebinding.test") + "/feed").outcome is Outcome.SUCCESS
    assert (network.looked_up, network.connected, inside.visitors()) == (["rebinding.test"], [PUBLIC], 0)


def test_a_name_that_changes_between_hops_keeps_the_address_that_was_checked(get: Get, network: Network, server: FeedServer) -> None:
    network.names["rebinding.test"] = [[PUBLIC], ["127.0.0.1"]]
    base = server.base.replace("127.0.0.1", "rebinding.test")
    server.answers["/feed"] = Answer(302, b"", {"Location": f"{base}/new", "Connection": "close"})
    server.publish("/new", "<rss/>")
    assert get(base + "/feed").outcome is Outcome.SUCCESS
    assert network.looked_up == ["rebinding.test"]
    assert network.connected == [PUBLIC, PUBLIC]


def test_a_name_that_becomes_private_is_refused_by_the_next_batch(get: Get, network: Network, inside: Inside, server: FeedServer) -> None:
    network.names["rebinding.test"] = [[PUBLIC], ["127.0.0.1"]]
    server.publish("/feed", "<rss/>")
    url = server.base.replace("127.0.0.1", "rebinding.test") + "/feed"
    results = [get(url), get(url)]
    assert [result.outcome for result in results] == [Outcome.SUCCESS, Outcome.PERMANENT_ERROR]
    assert (network.connected, inside.visitors()) == ([PUBLIC], 0)


def test_a_batch_looks_a_host_up_once_for_all_its_feeds(network: Network, server: FeedServer, tmp_path: Path, clock: Clock) -> None:
    base = server.base.replace("127.0.0.1", "allowed.test")
    for number in range(5):
        server.answers[f"/{number}"] = Answer(200, b"<rss/>", {"Connection": "close"})
    with Fetcher(make_settings(tmp_path, ALLOW_PRIVATE_NETWORKS="false"), clock, network.guard()) as fetcher:
        results = [fetcher.fetch(FetchRequest(f"feed-{number}", f"{base}/{number}")) for number in range(5)]
    assert {result.outcome for result in results} == {Outcome.SUCCESS}
    assert (network.looked_up, len(network.connected)) == (["allowed.test"], 5)


def test_a_batch_looks_a_host_up_once_for_all_its_ports(network: Network) -> None:
    network.names["rebinding.test"] = [[PUBLIC], ["127.0.0.1"]]
    guard = network.guard()
    found = [address for port in (80, 443, 8080) for address in guard.addresses("rebinding.test", port)]
    assert [address.address[:2] for address in found] == [(PUBLIC, 80), (PUBLIC, 443), (PUBLIC, 8080)]
    assert network.looked_up == ["rebinding.test"]


def test_a_name_that_does_not_exist_is_asked_for_once(network: Network) -> None:
    guard = network.guard()
    for _ in range(3):
        with pytest.raises(socket.gaierror):
            guard.addresses("nowhere.invalid", 80)
    assert network.looked_up == ["nowhere.invalid"]


def test_threads_that_ask_at_the_same_moment_get_the_same_addresses() -> None:
    together = threading.Barrier(4)
    answers = iter([PUBLIC, "8.8.8.8", "1.1.1.1", "9.9.9.9"])

    def resolve(host: str, port: int) -> list[Address]:
        together.wait(timeout=5)
        return [_address(next(answers), port)]

    guard = Guard(allow_private=False, resolve=resolve)
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda _: guard.addresses("busy.test", 80)[0].ip, range(4)))
    assert len(set(found)) == 1
