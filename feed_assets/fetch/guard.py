"""The address guard: what is connected to is what was checked, on every hop, so that DNS cannot trick it."""

from __future__ import annotations

import ipaddress
import socket
import threading
from collections.abc import Callable
from http import HTTPStatus
from http.client import HTTPResponse, RemoteDisconnected, parse_headers
from typing import Any, NamedTuple

from requests import PreparedRequest
from requests.adapters import HTTPAdapter
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.connectionpool import HTTPConnectionPool, HTTPSConnectionPool
from urllib3.exceptions import ConnectTimeoutError, NameResolutionError, NewConnectionError
from urllib3.poolmanager import PoolManager

from feed_assets.errors import ForbiddenAddress
from feed_assets.fetch.exchange import BoundedSocket, current, tls_context

_PUBLIC_IPV6 = ipaddress.ip_network("2000::/3")  # what is assigned to the open internet; everything else has a special use
_NAT64 = ipaddress.ip_network("64:ff9b::/96")
_SPECIAL = tuple(
    map(
        ipaddress.ip_network,
        ("168.63.129.16/32", "192.0.0.0/24", "192.88.99.0/24", "240.0.0.0/4", "2001::/23", "2001:db8::/32", "3fff::/20"),
    )
)
_MOST_ADDRESSES = 4  # of one host, tried one after the other


class Address(NamedTuple):
    """One of a host's addresses, as getaddrinfo gives them."""

    family: int
    kind: int
    protocol: int
    name: str
    address: tuple[Any, ...]

    @property
    def ip(self) -> str:
        return str(self.address[0])

    def at(self, port: int) -> Address:
        return self._replace(address=(self.address[0], port, *self.address[2:]))


Resolve = Callable[[str, int], list[Address]]
Connect = Callable[[Address, float], socket.socket]


def is_public(address: str) -> bool:
    """Whether an address is one of the open internet, also in its IPv6 disguises."""
    ip = ipaddress.ip_address(address.partition("%")[0])
    if isinstance(ip, ipaddress.IPv6Address):
        embedded = ip.ipv4_mapped or ip.sixtofour or (ipaddress.IPv4Address(int(ip) & 0xFFFFFFFF) if ip in _NAT64 else None)
        if embedded is not None:
            return is_public(str(embedded))
        if ip not in _PUBLIC_IPV6 or (int(ip) >> 32) & 0xFDFFFFFF == 0x5EFE:  # ISATAP hides an IPv4 address behind 5efe
            return False
    special = any(ip in network for network in _SPECIAL if network.version == ip.version)
    return ip.is_global and not ip.is_multicast and not ip.is_reserved and not special


def look_up(host: str, port: int) -> list[Address]:
    return [Address(*found) for found in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)]


def open_socket(address: Address, seconds: float) -> socket.socket:
    sock = BoundedSocket(address.family, address.kind, address.protocol)
    try:
        sock.settimeout(seconds)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        sock.connect(address.address)
    except BaseException:
        sock.close()
        raise
    return sock


class Guard:
    """Resolves each host once, checks every address, connects to the very one that was checked."""

    def __init__(self, *, allow_private: bool, resolve: Resolve = look_up, connect: Connect = open_socket) -> None:
        self._allow_private = allow_private
        self._resolve = resolve
        self._connect = connect
        self._known: dict[str, list[Address] | OSError] = {}
        self._lock = threading.Lock()

    def addresses(self, host: str, port: int) -> list[Address]:
        """The addresses that may be connected to. Raises when the name has none, or none that is allowed."""
        found = self._known.get(host)
        if found is None:
            try:
                found = self._resolve(host, port)
            except UnicodeError:
                found = socket.gaierror(socket.EAI_NONAME, "not a host name")
            except OSError as error:
                found = error
            with self._lock:  # the first answer counts for the whole batch, also for threads that asked at the same moment
                found = self._known.setdefault(host, found)
        if isinstance(found, OSError):
            raise found
        allowed = found if self._allow_private else [address for address in found if is_public(address.ip)]
        if not allowed:
            raise ForbiddenAddress(
                f"{host} is at {found[0].ip if found else 'no address'}, which is not a public address; "
                "FEED_ASSETS_ALLOW_PRIVATE_NETWORKS=true allows it"
            )
        return [address.at(port) for address in allowed[:_MOST_ADDRESSES]]

    def connect(self, connection: HTTPConnection) -> socket.socket:
        """A socket for this connection."""
        host, port = connection._dns_host, connection.port or connection.default_port
        try:
            addresses = self.addresses(host, port)
        except socket.gaierror as error:
            raise NameResolutionError(host, connection, error) from error
        exchange = current()
        last: OSError | None = None
        for tries, address in enumerate(addresses):
            seconds = exchange.wait() / (len(addresses) - tries) if exchange else 30.0
            try:
                sock = self._connect(address, seconds)
            except OSError as error:
                last = error
                continue
            if exchange is not None:
                exchange.connected = True
                sock.settimeout(exchange.wait())
            return sock
        if isinstance(last, TimeoutError):
            raise ConnectTimeoutError(connection, f"connection to {host} timed out") from last
        raise NewConnectionError(connection, f"cannot connect to {host}: {last}") from last


class _HeaderLines:
    """The lines of a head. http.client takes the end of the connection for the end of the headers; it is none."""

    def __init__(self, lines: Any) -> None:
        self._lines = lines
        self._first = True

    def readline(self, limit: int) -> bytes:
        line: bytes = self._lines.readline(limit)
        if not self._first and not line.endswith(b"\n") and len(line) < limit:
            raise RemoteDisconnected("the connection was closed in the headers")
        self._first = False
        return line

    def close(self) -> None:
        self._lines.close()


class _FinalAnswer(HTTPResponse):
    """A whole head; and no interim one (103 Early Hints and its like), as http.client has it with 100 only."""

    def begin(self) -> None:
        lines, self.fp = self.fp, _HeaderLines(self.fp)  # type: ignore[assignment]
        try:
            super().begin()
        finally:
            if isinstance(self.fp, _HeaderLines):
                self.fp = lines

    def _read_status(self) -> tuple[str, int, str]:
        version, status, reason = super()._read_status()  # type: ignore[misc]
        while 100 < status < 200 and status != HTTPStatus.SWITCHING_PROTOCOLS:
            parse_headers(self.fp)
            version, status, reason = super()._read_status()  # type: ignore[misc]
        return version, status, reason


class GuardedAdapter(HTTPAdapter):
    """Pooled connections that are opened by a guard, over TLS that is verified with one shared set of certificates."""

    def __init__(self, guard: Guard, *, hosts: int) -> None:
        self._guard = guard
        super().__init__(pool_connections=hosts, pool_maxsize=1)

    def init_poolmanager(self, connections: int, maxsize: int, block: bool = False, **options: Any) -> None:
        guard = self._guard

        class GuardedHTTP(HTTPConnection):
            response_class = _FinalAnswer

            def _new_conn(self) -> socket.socket:
                return guard.connect(self)

        class GuardedHTTPS(HTTPSConnection):
            response_class = _FinalAnswer

            def _new_conn(self) -> socket.socket:
                return guard.connect(self)

        class HTTPPool(HTTPConnectionPool):
            ConnectionCls = GuardedHTTP

        class HTTPSPool(HTTPSConnectionPool):
            ConnectionCls = GuardedHTTPS

            def __init__(self, *args: Any, **options: Any) -> None:
                super().__init__(*args, **options | {"ssl_context": tls_context()})  # made when first needed: it takes a moment

        self.poolmanager = PoolManager(num_pools=connections, maxsize=maxsize, **options)
        self.poolmanager.pool_classes_by_scheme = {"http": HTTPPool, "https": HTTPSPool}

    def build_connection_pool_key_attributes(self, request: PreparedRequest, verify: Any, cert: Any = None) -> tuple[Any, Any]:
        host, _ = super().build_connection_pool_key_attributes(request, verify, cert)
        return host, {}  # the certificates are in the shared context; requests would load them for every connection

    def cert_verify(self, conn: Any, url: str, verify: Any, cert: Any) -> None:
        """Done by the shared context, which verifies always."""
