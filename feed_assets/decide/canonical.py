"""One spelling for all URLs of a page.

Three spellings for three questions: `canonical_url` (is it the same page, whichever feed links to it?), `identity_url` (are these two
items of one feed?) and `path_key` (is it the same page after its site moved?). They are for comparing, not for fetching. Where it is
unclear whether a detail matters, it is kept: a copy that goes unnoticed costs less than two stories that become one.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from ipaddress import IPv6Address
from urllib.parse import quote, quote_plus, unquote_plus, unquote_to_bytes, urlsplit

from feed_assets.urls import domain_of

_LONGEST = 4096  # no page that people share has a longer URL
_MOST_WRAPPERS = 8

# How the reader came to the page, never which page it is.
_TRACKING = frozenset({
    # advertising clicks
    "fbclid", "gclid", "gclsrc", "gbraid", "wbraid", "dclid", "msclkid", "yclid", "ysclid", "twclid", "ttclid", "li_fat_id", "rdt_cid",
    "epik", "srsltid", "s_kwcid", "ef_id", "irclickid", "_openstat",
    # newsletters
    "mc_cid", "mc_eid", "mkt_tok", "_hsenc", "_hsmi", "__hssc", "__hstc", "__hsfp", "hsctatracking", "oly_enc_id", "oly_anon_id", "vero_id",
    "vero_conv", "ml_subscriber", "ml_subscriber_hash",
    # audience measurement
    "_ga", "_gl", "_gac", "xtor", "xtref", "xtcr", "ns_mchannel", "ns_source", "ns_campaign", "ns_linkname", "ns_fee", "s_cid", "spm",
    "wt_mc", "wt_zmc", "wtmc", "cmpid", "cmp", "icid", "ito", "ocid", "ncid", "ftag", "traffic_source", "guccounter", "tsrc", ".tsrc",
    # sharing
    "igshid", "igsh", "mibextid", "fb_action_ids", "fb_action_types", "fb_ref", "fb_source", "fref", "__tn__", "__twitter_impression",
    "ref_src", "ref_url", "sr_share", "smid", "smtyp", "soc_src", "soc_trk", "echobox", "_branch_match_id",
    # AMP caches and sessions
    "usqp", "jsessionid", "phpsessid",
    # against caches
    "rnd", "rand", "nocache", "cachebuster", "cache_buster",
})  # fmt: skip
_TRACKING_PREFIXES = (
    "utm_", "piwik_", "mtm_", "hsa_", "guce_", "itm_", "wt.mc_", "__cft__", "aspsessionid", "at_medium", "at_campaign", "at_custom",
    "at_link_", "at_format", "at_bbc_team", "at_ptr_name", "at_creation", "at_variant", "at_network", "at_emailtype", "pk_campaign",
    "pk_kwd", "pk_keyword", "pk_source", "pk_medium", "pk_content", "pk_cid", "pk_cpn", "pk_vid", "matomo_campaign", "matomo_kwd",
    "matomo_source", "matomo_medium", "amp_js_v", "amp_gsa", "amp_tf", "amp_ct", "amp_markup",
)  # fmt: skip
# These select pages on some sites, so it is their value that tells: "?source=rss" is tracking, "?source=reuters" may be a page.
_ORIGIN = frozenset({"ref", "source", "src", "from", "via", "partner", "emc", "medium", "mod", "origin", "referrer", "feed", "rss"})
_FEED_WORDS = frozenset({"rss", "rss1", "rss2", "rssfeed", "feed", "feeds", "feedburner", "fexrss", "rss.xml"})
_YES = frozenset({"", "1", "true", "yes"})
_SHARED_FROM = frozenset({"si", "feature"})
_SHARING_HOSTS = frozenset({"youtube.com", "m.youtube.com", "music.youtube.com", "youtu.be", "spotify.com", "open.spotify.com"})
_SESSION = frozenset({"sid", "sessionid", "session_id", "s"})
_LONG_HEX = re.compile(r"[0-9a-f]{26,}")  # longer than the 24 digits of a MongoDB id, which may well be the story
_SESSION_IN_PATH = re.compile(r"(?i);(?:(?:jsessionid|phpsessid)=[^/;]*|sid=[0-9a-f]{26,}[^/;]*)")
_VALUE_WORDS = re.compile(r"[^a-z0-9]+")

_HOST = re.compile(r"[a-z0-9_-]+(?:\.[a-z0-9_-]+)*")
_NAMES_ARE_PAGES = frozenset({"github.com", "gitlab.com", "codeberg.org", "npmjs.com", "pypi.org"})  # where a page may well be called "amp"
_MOBILE_WIKI = re.compile(r"^([a-z-]+)\.m\.(wik[a-z]+\.org)$")
_MOBILE = frozenset({"m", "mobile", "amp"})
_PLAIN = re.compile(r"[A-Za-z0-9._~-]*")
_SAFE_IN_PATH = "!$&'()*+,:;=@"
_ESCAPED_AMPERSANDS = re.compile(r"(?:amp;)+")
_INDEX_PAGES = frozenset(f"{name}.{kind}" for name in ("index", "default") for kind in ("html", "htm", "shtml", "php", "asp", "aspx"))
_AMP_ENDING = re.compile(r"(?<=[^.])(?:\.amp)++(?=(?:\.html?)?$)")

_GOOGLE = re.compile(r"google\.(?:com?\.)?[a-z]{2,3}")
_AMP_CACHE = re.compile(r"(?:[^/]*\.)?cdn\.ampproject\.org/[cv]/(?:s/)?|google\.(?:com?\.)?[a-z]{2,3}/amp/(?:s/)?|bing\.com/amp/(?:s/)?")
_REDIRECTS = {
    "google.com/url": ("url", "q"),
    "bing.com/news/apiclick.aspx": ("url",),
    "facebook.com/l.php": ("u",),
    "l.facebook.com/l.php": ("u",),
    "youtube.com/redirect": ("q",),
    "t.umblr.com/redirect": ("z",),
    "getpocket.com/redirect": ("url",),
    "slack-redir.net/link": ("url",),
    "steamcommunity.com/linkfilter": ("url", "u"),
    "vk.com/away.php": ("to",),
    "duckduckgo.com/l": ("uddg",),
}


@lru_cache(maxsize=16_384)  # about as many as a group of feeds has items: each is asked for again and again on its way to the store
def canonical_url(url: str | None) -> str | None:
    """The page's one spelling, without tracking, AMP and redirects that name their target; None for what is no web address."""
    page: str | None = None
    for _ in range(_MOST_WRAPPERS):
        spelled = _spelled(url) if url else None
        if spelled is None:
            return page
        page, url = spelled, _wrapped(spelled)
    return None  # half unwrapped it would have a second spelling


def identity_url(url: str) -> str:
    """What tells the items of one feed apart: little is folded, and quickly, for every entry of every document is asked for it.

    Fragments stay unless they are tracking: a changelog links to #v1.2 and to #v1.3.
    """
    if url.startswith("https://"):
        rest = url[8:]
    elif url.startswith("http://"):
        rest = url[7:]
    else:
        scheme, _, rest = url.partition("://")
        if scheme.lower() not in ("http", "https"):
            return url
    if rest.startswith("www."):
        rest = rest[4:]
    return _untracked(rest) if "?" in rest or "#" in rest or ";" in rest else rest


def path_key(url: str) -> str:
    """The page without its host, by which it is known after its feed moved to another one; "" for a home page, which all sites have."""
    page = canonical_url(url)
    path = page[8:].partition("/")[2] if page else ""
    return path and f"/{path}"


def _spelled(url: str) -> str | None:
    url = url.strip()
    if len(url) > _LONGEST:
        return None
    try:
        url.encode()  # half a character is no address
        parts = urlsplit(url)
        host = _host(parts.hostname or "")
        if parts.scheme not in ("http", "https") or not host:
            return None
        port = "" if parts.port in (None, 0, 80, 443) else f":{parts.port}"
        path = _path(parts.path, names_are_pages=host in _NAMES_ARE_PAGES)
        page = f"https://{host}{port}{path}"
        if host == "youtu.be" and path.count("/") == 1 and len(path) > 1:
            page = f"https://youtube.com/watch?v={path[1:]}"
        elif parts.query and (query := _query(parts.query, host)):
            page = f"{page}?{query}"
        if len(parts.fragment) > 1 and parts.fragment.startswith(("!", "/")):  # a route of a page that scripts put together
            page = f"{page}#{quote(unquote_to_bytes(parts.fragment), safe=_SAFE_IN_PATH + '/?')}"
    except ValueError:
        return None
    return page if len(page) <= _LONGEST else None


def _host(name: str) -> str:
    """The host without www and its mobile twin; "" for what no host is called."""
    if ":" in name:
        return f"[{IPv6Address(name)}]" if "%" not in name else ""
    host = name if name.isascii() else ".".join(map(_label, unicodedata.normalize("NFKC", name).replace("。", ".").split(".")))
    host = host.rstrip(".")
    if len(host) > 253 or not _HOST.fullmatch(host):
        return ""
    while rest := _main_host(host):
        host = rest
    return host


def _main_host(host: str) -> str:
    """The host that this one is the www or mobile twin of; "" where it is a site of its own, like www.co.uk and mobile.de."""
    first, _, rest = host.partition(".")
    if first == "www":
        return rest if "." in rest and domain_of(host) != host else ""
    if wiki := _MOBILE_WIKI.match(host):
        return f"{wiki[1]}.{wiki[2]}"
    return rest if first in _MOBILE and domain_of(rest) else ""


def _label(label: str) -> str:
    """Punycode by hand: the codec "idna" takes straße.de for strasse.de, which has another owner."""
    label = "".join(map(str.lower, label))
    return label if label.isascii() else f"xn--{label.encode('punycode').decode('ascii')}"


def _path(path: str, *, names_are_pages: bool = False) -> str:
    segments: list[str] = []
    for segment in path.split("/"):
        if not _PLAIN.fullmatch(segment):
            segment = _SESSION_IN_PATH.sub("", quote(unquote_to_bytes(segment), safe=_SAFE_IN_PATH))
        if segment == "..":
            del segments[-1:]
        elif segment not in ("", "."):
            segments.append(segment)
    while segments:
        last = segments[-1]
        if last.lower() in _INDEX_PAGES or (last == "amp" and len(segments) > 1 and not names_are_pages):
            segments.pop()
        elif ".amp" in last and (plain := _AMP_ENDING.sub("", last)) != last:
            segments[-1] = plain
        else:
            break
    return "/" + "/".join(segments)


def _query(query: str, host: str) -> str:
    """Sorted, and in one spelling. Through bytes, as not all sites write UTF-8."""
    kept = []
    for raw in query.split("&"):
        name, _, value = _ESCAPED_AMPERSANDS.sub("", raw, count=1).partition("=") if raw.startswith("amp;") else raw.partition("=")
        parameter = f"{_encoded(name)}={_encoded(value)}" if value else _encoded(name)
        if parameter and not _is_tracking(parameter, host):
            kept.append(parameter)
    return "&".join(sorted(kept))


def _encoded(text: str) -> str:
    return text if _PLAIN.fullmatch(text) else quote_plus(unquote_to_bytes(text.replace("+", " ")))


def _wrapped(page: str) -> str | None:
    """The page that a canonical URL only leads to. Looked for in the canonical spelling, so that each spelling is unwrapped alike."""
    address, _, query = page[8:].partition("#")[0].partition("?")
    if (cache := _AMP_CACHE.match(address)) and domain_of(address[cache.end() :].partition("/")[0]):
        return f"https://{address[cache.end() :]}?{query}"
    for wanted in _REDIRECTS.get(_GOOGLE.sub("google.com", address, count=1), ()) if query else ():
        for name, _, value in (parameter.partition("=") for parameter in query.split("&")):
            if name == wanted and value[:4].lower() == "http":
                return unquote_plus(value, errors="surrogateescape")  # bytes that are no UTF-8 make it no web address
    return None


def _untracked(rest: str) -> str:
    address, _, fragment = rest.partition("#")
    path, _, query = address.partition("?")
    if ";" in path:
        path = _SESSION_IN_PATH.sub("", path)
    if query:
        host = path.partition("/")[0]
        query = "&".join([parameter for parameter in query.split("&") if parameter and not _is_tracking(parameter, host)])
    if fragment.lower() == "rss" or ("=" in fragment and all(_is_tracking(parameter, "") for parameter in fragment.split("&"))):
        fragment = ""
    return path + (query and f"?{query}") + (fragment and f"#{fragment}")


def _is_tracking(parameter: str, host: str) -> bool:
    name, _, value = parameter.lower().partition("=")
    if name.startswith("amp;"):
        name = name[4:]
    if name in _TRACKING or name.startswith(_TRACKING_PREFIXES):
        return True
    if name in _ORIGIN:
        return value in _FEED_WORDS or "rss" in _VALUE_WORDS.split(value) or (name == "rss" and value in _YES)
    if name == "amp":
        return value in _YES
    if name in ("output", "outputtype"):
        return value == "amp"
    if name in _SHARED_FROM:
        return host in _SHARING_HOSTS
    return name in _SESSION and _LONG_HEX.fullmatch(value) is not None
