"""What a URL says: its host, its registrable domain, and the credentials that nobody else should see."""

from __future__ import annotations

import re
from functools import lru_cache
from urllib.parse import unquote, unquote_plus, urlsplit

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


def mask_secrets(url: str) -> str:
    """The URL of a webhook, of which path and query may be secrets, too: only where it leads."""
    scheme, separator, rest = _USERINFO.sub("", url).partition("://")
    place = re.split(r"[/?#]", rest, maxsplit=1)
    return f"{scheme}{separator}{place[0]}" + ("/***" if len(place) > 1 and place[1] else "") if separator else "***"


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


def lenient_key(url: str) -> str:
    """The same for spellings of one URL: percent-encoding, the case of the host, a last slash, credentials and fragments do not count."""
    try:
        parts = urlsplit(url.strip())
        host, port = (parts.hostname or "").rstrip("."), parts.port
    except ValueError:
        return url
    place = "" if port in (None, _DEFAULT_PORTS.get(parts.scheme.lower())) else f":{port}"
    path = unquote(parts.path, errors="surrogateescape").rstrip("/")
    query = unquote_plus(parts.query, errors="surrogateescape")
    return f"{parts.scheme.lower()}://{host}{place}{path}" + (f"?{query}" if query else "")


def feed_key(url: str) -> str:
    """The same for URLs that hardly lead to two feeds: beyond what `lenient_key` forgives, http or https and a leading www."""
    _, _, place = lenient_key(url).partition("://")
    userinfo = _USERINFO.search(url)
    return (userinfo[0] if userinfo else "") + place.removeprefix("www.")


@lru_cache(maxsize=4096)
def domain_of(url: str) -> str | None:
    """The registrable domain, or None for addresses and intranet names."""
    return _suffixes(url).top_domain_under_public_suffix or None
