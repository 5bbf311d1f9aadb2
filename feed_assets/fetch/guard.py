"""The address guard: what is connected to is what was checked, on every hop, so that DNS cannot trick it."""

from __future__ import annotations

import ipaddress
import socket
from typing import Any

from requests.adapters import HTTPAdapter
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.connectionpool import HTTPConnectionPool, HTTPSConnectionPool
from urllib3.exceptions import ConnectTimeoutError, NameResolutionError, NewConnectionError
from urllib3.poolmanager import PoolManager

from feed_assets.errors import ForbiddenAddress

_NAT64 = (ipaddress.ip_network("64:ff9b::/96"), ipaddress.ip_network("64:ff9b:1::/48"))


def is_public(address: str) -> bool:
    """Whether an address is one of the open internet, also in its IPv6 disguises."""
    ip = ipaddress.ip_address(address.partition("%")[0])
    if isinstance(ip, ipaddress.IPv6Address):
        embedded = ip.ipv4_mapped or ip.sixtofour or (ip.teredo[1] if ip.teredo else None)
        if embedded is None and any(ip in network for network in _NAT64):
            embedded = ipaddress.IPv4Address(int(ip) & 0xFFFFFFFF)
        if embedded is not None:
            return is_public(str(embedded))
    return ip.is_global and not ip.is_multicast and not ip.is_reserved


def connect(connection: HTTPConnection) -> socket.socket:
    """Resolve, check, connect: to the very address that was checked."""
    host = connection._dns_host
    try:
        found = socket.getaddrinfo(host, connection.port, type=socket.SOCK_STREAM)
    except (socket.gaierror, UnicodeError) as error:
        raise NameResolutionError(host, connection, error if isinstance(error, socket.gaierror) else socket.gaierror(str(error))) from error
    public = [each for each in found if is_public(str(each[4][0]))]
    if not public:
        raise ForbiddenAddress(
            f"{host} is at {found[0][4][0]}, which is not a public address; FEED_ASSETS_ALLOW_PRIVATE_NETWORKS=true allows it"
        )
    last: OSError | None = None
    for family, kind, protocol, _, address in public:
        sock = socket.socket(family, kind, protocol)
        try:
            sock.settimeout(connection.timeout if isinstance(connection.timeout, int | float) else None)
            sock.connect(address)
        except OSError as error:
            sock.close()
            last = error
            continue
        return sock
    if isinstance(last, TimeoutError):
        raise ConnectTimeoutError(connection, f"connection to {host} timed out") from last
    raise NewConnectionError(connection, f"cannot connect to {host}: {last}") from last


class _GuardedHTTP(HTTPConnection):
    def _new_conn(self) -> socket.socket:
        return connect(self)


class _GuardedHTTPS(HTTPSConnection):
    def _new_conn(self) -> socket.socket:
        return connect(self)


class _GuardedHTTPPool(HTTPConnectionPool):
    ConnectionCls = _GuardedHTTP


class _GuardedHTTPSPool(HTTPSConnectionPool):
    ConnectionCls = _GuardedHTTPS


class GuardedAdapter(HTTPAdapter):
    """A transport that opens connections to public addresses only."""

    def init_poolmanager(self, connections: int, maxsize: int, block: bool = False, **options: Any) -> None:
        self.poolmanager = PoolManager(num_pools=connections, maxsize=maxsize, block=block, **options)
        self.poolmanager.pool_classes_by_scheme = {"http": _GuardedHTTPPool, "https": _GuardedHTTPSPool}
