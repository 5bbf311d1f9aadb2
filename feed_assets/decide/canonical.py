"""One spelling for all URLs of a page."""

from __future__ import annotations

from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

_TRACKING = frozenset(
    [
        "fbclid",
        "gclid",
        "dclid",
        "msclkid",
        "yclid",
        "igshid",
        "mc_cid",
        "mc_eid",
        "cmpid",
        "ref_src",
        "ocid",
        "_hsenc",
        "_hsmi",
        "ncid",
        "sr_share",
        "spm",
        "at_medium",
        "at_campaign",
    ]
)
_TRACKING_PREFIXES = ("utm_", "pk_", "piwik_", "mtm_", "hsa_")


def canonical_url(url: str | None) -> str | None:
    """Without tracking, fragment, scheme, www and the order of parameters; None for what is no web address."""
    if not url:
        return None
    try:
        parts = urlsplit(url.strip())
        host, port = parts.hostname, parts.port
    except ValueError:
        return None
    if parts.scheme.lower() not in ("http", "https") or not host:
        return None
    host = host.rstrip(".").removeprefix("www.")
    if ":" in host:
        host = f"[{host}]"
    if port and port not in (80, 443):
        host = f"{host}:{port}"
    query = sorted((name, value) for name, value in parse_qsl(parts.query, keep_blank_values=True) if not _is_tracking(name))
    return urlunsplit(("https", host, parts.path.rstrip("/") or "/", urlencode(query), ""))


def _is_tracking(name: str) -> bool:
    return name.lower() in _TRACKING or name.lower().startswith(_TRACKING_PREFIXES)
