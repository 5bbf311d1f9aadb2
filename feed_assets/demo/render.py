"""Demo feeds as documents: RSS 2.0, Atom, RDF (RSS 1.0) and JSON Feed."""

from __future__ import annotations

import json
import random
from dataclasses import dataclass
from datetime import datetime
from email.utils import format_datetime
from xml.sax.saxutils import escape

from feed_assets.demo.feeds import DemoFeed

CONTENT_TYPES = {
    "rss": "application/rss+xml; charset=utf-8",
    "atom": "application/atom+xml; charset=utf-8",
    "rdf": "application/rdf+xml; charset=utf-8",
    "json": "application/feed+json; charset=utf-8",
}

_DID = [
    "opened",
    "repaired",
    "celebrated",
    "mapped",
    "rescued",
    "redesigned",
    "counted",
    "planted",
    "photographed",
    "explained",
    "postponed",
    "painted",
]
_NAMES = """Ada Bela Cleo Dana Enno Fritz Gisa Hugo Ines Jonas Kaya Levin Mira Nils Olga Pavel Quirin Rosa Sven Thea Umberto Vera Wanda
    Xaver Yola Zeno""".split()  # noqa: SIM905
_THINGS = """accordions almanacs apricots barometers beehives biscuits boomerangs brooches buttons candles carousels chessboards compasses
    cucumbers dictionaries dominoes fiddles fountains globes hammocks icebergs inkwells juggling kites ladders lanterns mandolins mirrors
    mosaics needles notebooks orchids owls paddles parasols pebbles pianos postcards puppets quilts radishes riddles saddles sandals
    satellites scarves sundials teapots telescopes thimbles trumpets turnips umbrellas violins waltzes whistles windmills xylophones yachts
    zebras""".split()  # noqa: SIM905
_FIRST = "Alt Brun Cor Dun Esk Fal Gren Hol Ivel Kel Lan Mor Nor Oak Pen Quen Ros Stan Thorn Ulv Wex Yar".split()  # noqa: SIM905
_LAST = "mere wick haven ford stead combe minster ness bridge worth dale thorpe".split()  # noqa: SIM905
# What happened, in the words of three houses. A telling has the names in common with the others, and not much else.
_TELLINGS = ("{who} {did} {what} in {town}", "{town}: {what} {did} by {who}", "How {who} {did} the {what} of {town}")
_SHARED = 5  # one story in so many is about something that others tell, too
_EVENT_SECONDS = 3 * 3600


@dataclass(frozen=True, slots=True)
class Story:
    guid: str
    link: str
    title: str
    html: str
    published_at: datetime


def stories(feed: DemoFeed, base: str, now: datetime) -> list[Story]:
    """The stories in the feed at this moment; the same number is always the same story."""
    found = []
    for number, published_at in feed.stories(now):
        chance = random.Random(f"{feed.wire or feed.name}-{number}")
        title = _told(chance, published_at)
        path = f"{feed.wire or feed.name}/{number}"
        link = f"{base}/stories/{path}" + (f"?utm_source={feed.name}" if feed.wire else "")
        html = f"<p>{title}. <em>A story</em> of our make-believe correspondents.</p><p><a href='/stories/{path}'>Read on</a></p>"
        found.append(Story(f"tag:demo,2026:{feed.name}/{number}", link, title, html, published_at))
    return found


def _told(chance: random.Random, published_at: datetime) -> str:
    """A headline: of something that happened to one correspondent, or of what all of the country talks about at this hour."""
    if chance.randrange(_SHARED):
        return f"{_person(chance)} {chance.choice(_DID)} {chance.choice(_THINGS)} of {_person(chance)}, near {_town(chance)}"
    event = random.Random(published_at.timestamp() // _EVENT_SECONDS)
    who, did, what, town = _person(event), event.choice(_DID), event.choice(_THINGS), _town(event)
    told = chance.choice(_TELLINGS).format(who=who, did=did, what=what, town=town)
    return told[0].upper() + told[1:]


def _person(chance: random.Random) -> str:
    return f"{chance.choice(_NAMES)} {_town(chance)}"


def _town(chance: random.Random) -> str:
    return chance.choice(_FIRST) + chance.choice(_LAST)


def render(feed: DemoFeed, base: str, now: datetime) -> bytes:
    write = {"rss": _rss, "atom": _atom, "rdf": _rdf, "json": _json}[feed.format]
    return write(feed, base, stories(feed, base, now)).encode()


def _rss(feed: DemoFeed, base: str, items: list[Story]) -> str:
    entries = "".join(
        f'<item><title>{escape(s.title)}</title><link>{escape(s.link)}</link><guid isPermaLink="false">{s.guid}</guid>'
        f"<pubDate>{format_datetime(s.published_at)}</pubDate><description>{escape(s.html)}</description></item>\n"
        for s in items
    )
    return (
        f'<?xml version="1.0" encoding="utf-8"?>\n<rss version="2.0"><channel><title>{escape(feed.title)}</title>'
        f"<link>{base}/</link><description>{escape(feed.title)}, a demo feed</description>\n{entries}</channel></rss>"
    )


def _atom(feed: DemoFeed, base: str, items: list[Story]) -> str:
    entries = "".join(
        f'<entry><title>{escape(s.title)}</title><link href="{escape(s.link)}"/><id>{s.guid}</id>'
        f'<updated>{s.published_at.isoformat()}</updated><content type="html">{escape(s.html)}</content></entry>\n'
        for s in items
    )
    return (
        f'<?xml version="1.0" encoding="utf-8"?>\n<feed xmlns="http://www.w3.org/2005/Atom"><title>{escape(feed.title)}</title>'
        f'<id>tag:demo,2026:{feed.name}</id><link href="{base}/"/><updated>{items[0].published_at.isoformat()}</updated>\n{entries}</feed>'
    )


def _rdf(feed: DemoFeed, base: str, items: list[Story]) -> str:
    places = "".join(f'<rdf:li rdf:resource="{escape(s.link)}"/>' for s in items)
    entries = "".join(
        f'<item rdf:about="{escape(s.link)}"><title>{escape(s.title)}</title><link>{escape(s.link)}</link>'
        f"<dc:date>{s.published_at.isoformat()}</dc:date><description>{escape(s.html)}</description></item>\n"
        for s in items
    )
    return (
        '<?xml version="1.0" encoding="utf-8"?>\n<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" '
        'xmlns="http://purl.org/rss/1.0/" xmlns:dc="http://purl.org/dc/elements/1.1/">'
        f'<channel rdf:about="{base}/"><title>{escape(feed.title)}</title><link>{base}/</link>'
        f"<description>{escape(feed.title)}</description>"
        f"<items><rdf:Seq>{places}</rdf:Seq></items></channel>\n{entries}</rdf:RDF>"
    )


def _json(feed: DemoFeed, base: str, items: list[Story]) -> str:
    entries = [
        {"id": s.guid, "url": s.link, "title": s.title, "content_html": s.html, "date_published": s.published_at.isoformat()} for s in items
    ]
    return json.dumps(
        {"version": "https://jsonfeed.org/version/1.1", "title": feed.title, "home_page_url": f"{base}/", "items": entries}, indent=1
    )
