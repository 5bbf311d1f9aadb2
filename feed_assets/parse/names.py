"""One name for an element, however its publisher spells the namespace: `dc:date`, `content:encoded`, plain `title`."""

from __future__ import annotations

from collections.abc import Mapping

# Namespaces without scheme, case and the end that people forget. RSS and Atom share the names that mean the same.
_PREFIXES = {
    "purl.org/rss/1.0": "",
    "purl.org/rss/1.0/modules/rss091": "",
    "purl.org/net/rss1.1": "",
    "backend.userland.com/rss": "",
    "backend.userland.com/rss2": "",
    "backend.userland.com/rss091": "",
    "backend.userland.com/rss092": "",
    "blogs.law.harvard.edu/tech/rss": "",
    "cyber.law.harvard.edu/rss": "",
    "my.netscape.com/rdf/simple/0.9": "",
    "channel.netscape.com/rdf/simple/0.9": "",
    "my.netscape.com/publish/formats/rss-0.91.dtd": "",
    "www.rssboard.org/rss-specification": "",
    "www.w3.org/2005/atom": "",
    "purl.org/atom/ns": "",
    "purl.org/echo": "",
    "purl.org/pie": "",
    "example.com/necho": "",
    "example.com/newformat": "",
    "purl.org/dc/elements/1.0": "dc:",
    "purl.org/dc/elements/1.1": "dc:",
    "purl.org/dc/terms": "dcterms:",
    "purl.org/rss/1.0/modules/content": "content:",
    "purl.org/rss/1.0/modules/syndication": "sy:",
    "www.itunes.com/dtds/podcast-1.0.dtd": "itunes:",
    "example.com/dtds/podcast-1.0.dtd": "itunes:",
    "search.yahoo.com/mrss": "media:",
    "search.yahoo.com/mrss/rss/1.0": "media:",
    "www.rssboard.org/media-rss": "media:",
    "video.search.yahoo.com/mrss": "media:",
    "www.w3.org/1999/xhtml": "xhtml:",
    "www.w3.org/1999/02/22-rdf-syntax-ns": "rdf:",
    "www.w3.org/xml/1998/namespace": "xml:",
    "rssnamespace.org/feedburner/ext/1.0": "feedburner:",
}
UNDECLARED = "urn:undeclared:"  # before a prefix that its document uses and never declares
MOST_REMEMBERED = 5000
_UNDECLARED = {"atom": "", "atom10": "", "rss": "", "dcterm": "dcterms:"}


class Names(dict[object, str]):
    """Names by tag: `{http://purl.org/dc/elements/1.1/}Date` and an undeclared `dc:date` are `dc:date`.

    Comments and the like have no name. Documents name the same few tags for ever, so each is worked out once.
    """

    def __missing__(self, tag: object) -> str:
        if len(self) > MOST_REMEMBERED:  # somebody makes up tags
            self.clear()
        self[tag] = name = _name(tag)
        return name


def _name(tag: object) -> str:
    if not isinstance(tag, str) or len(tag) > 300:
        return ""
    if tag[0] == "{":
        namespace, _, local = tag[1:].rpartition("}")
        if namespace.startswith(UNDECLARED):
            return _name(f"{namespace.removeprefix(UNDECLARED)}:{local}")
        prefix = _PREFIXES.get(namespace.lower().partition("://")[2].rstrip("/#"), "?:")
        return prefix + local.lower()
    prefix, colon, local = tag.lower().rpartition(":")
    return _UNDECLARED.get(prefix, prefix + colon) + local if colon else local


NAMES = Names()
# What a well-known prefix stands for, whatever it was declared as.
_MEANT = {
    "dc": "http://purl.org/dc/elements/1.1/",
    "dcterms": "http://purl.org/dc/terms/",
    "content": "http://purl.org/rss/1.0/modules/content/",
    "media": "http://search.yahoo.com/mrss/",
    "itunes": "http://www.itunes.com/dtds/podcast-1.0.dtd",
    "sy": "http://purl.org/rss/1.0/modules/syndication/",
    "atom": "http://www.w3.org/2005/Atom",
}


def namespaces_to_put_right(declared: Mapping[str | None, str]) -> dict[str, str]:
    """Addresses that nobody knows, under a prefix that everybody knows: address -> what was meant."""
    return {uri: _MEANT[prefix] for prefix, uri in declared.items() if prefix in _MEANT and NAMES[f"{{{uri}}}x"][:2] == "?:"}
