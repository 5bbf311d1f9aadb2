"""What a URL says: its host, its registrable domain, and the credentials that nobody else should see."""

from __future__ import annotations

import re
from functools import lru_cache
from urllib.parse import urlsplit

import tldextract

_suffixes = tldextract.TLDExtract(suffix_list_urls=(), cache_dir=None)  # the bundled list: no request at run time
# Texts rather than parts: they must work on URLs that no parser takes, too.
_USERINFO = re.compile(r"(?<=//)[^/?#]*@")
_PASSWORD_PARAMETER = re.compile(r"(?i)([?&](?:ssl)?password=)[^&#]*")
_DEFAULT_PORTS = {"http": 80, "https": 443}


def mask_password(url: str) -> str:
    """The URL without its password, for logs, terminals and the Dagster UI."""
    masked = _USERINFO.sub(lambda found: f"{found[0].partition(':')[0]}:***@" if ":" in found[0] else found[0], url)
    return _PASSWORD_PARAMETER.sub(r"\1***", masked)


def without_credentials(url: str) -> str:
    """The URL as others may know it."""
    return _USERINFO.sub("", url)


def host_of(url: str) -> str:
    """The host that a URL is fetched from, with its port where that is not the usual one."""
    try:
        parts = urlsplit(url)
        host, port = (parts.hostname or "").rstrip("."), parts.port
    except ValueError:
        return url.lower()
    host = f"[{host}]" if ":" in host else host
    return host if port in (None, _DEFAULT_PORTS.get(parts.scheme.lower())) else f"{host}:{port}"


@lru_cache(maxsize=4096)
def domain_of(url: str) -> str | None:
    """The registrable domain, or None for addresses and intranet names."""
    return _suffixes(url).top_domain_under_public_suffix or None
