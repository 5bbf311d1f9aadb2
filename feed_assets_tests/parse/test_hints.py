"""What a feed says about how often to come: ttl, sy:updatePeriod, skipHours and skipDays."""

from __future__ import annotations

import pytest

from feed_assets.model import Hints
from feed_assets.parse import parse_document

SYNDICATION = "xmlns:sy='http://purl.org/rss/1.0/modules/syndication/'"


def hints(extra: str) -> Hints:
    body = f"<rss version='2.0' {SYNDICATION}><channel><title>T</title>{extra}<item><title>x</title></item></channel></rss>"
    return parse_document(body.encode(), url="https://news.example/feed", headers={}, max_entries=100).hints


@pytest.mark.parametrize(
    ("extra", "expected"),
    [
        ("", Hints()),
        ("<ttl>60</ttl>", Hints(ttl_minutes=60)),
        ("<ttl> 60 </ttl>", Hints(ttl_minutes=60)),
        ("<ttl>99999999999</ttl>", Hints(ttl_minutes=10**6)),
        ("<ttl>soon</ttl>", Hints()),
        ("<ttl>-5</ttl>", Hints()),
        ("<sy:updatePeriod>hourly</sy:updatePeriod>", Hints(update_period_seconds=3600)),
        ("<sy:updatePeriod> Daily </sy:updatePeriod>", Hints(update_period_seconds=86_400)),
        ("<sy:updatePeriod>hourly</sy:updatePeriod><sy:updateFrequency>4</sy:updateFrequency>", Hints(update_period_seconds=900)),
        ("<sy:updatePeriod>hourly</sy:updatePeriod><sy:updateFrequency>0</sy:updateFrequency>", Hints(update_period_seconds=3600)),
        ("<sy:updatePeriod>sometimes</sy:updatePeriod>", Hints()),
        ("<skipHours><hour>23</hour><hour> 0 </hour><hour>0</hour></skipHours>", Hints(skip_hours=(0, 23))),
        ("<skipHours><hour>24</hour></skipHours>", Hints(skip_hours=(0,))),
        ("<skipHours><hour>noon</hour></skipHours>", Hints()),
        ("<skipDays><day>Saturday</day><day>Sunday</day></skipDays>", Hints(skip_days=("saturday", "sunday"))),
    ],
)
def test_hints_of_a_feed(extra: str, expected: Hints) -> None:
    assert hints(extra) == expected


@pytest.mark.parametrize(
    "extra",
    ["<ttl>²</ttl>", f"<ttl>{'9' * 5000}</ttl>", "<sy:updatePeriod>hourly</sy:updatePeriod><sy:updateFrequency>²</sy:updateFrequency>"],
)
def test_a_hint_that_is_no_number_does_not_cost_the_feed(extra: str) -> None:
    assert hints(extra).ttl_minutes in (None, 10**6)


def test_rdf_feeds_have_hints_too() -> None:
    body = f"""<rdf:RDF xmlns:rdf='http://www.w3.org/1999/02/22-rdf-syntax-ns#' xmlns='http://purl.org/rss/1.0/' {SYNDICATION}>
    <channel><title>T</title><sy:updatePeriod>hourly</sy:updatePeriod><sy:updateFrequency>2</sy:updateFrequency></channel>
    <item><title>x</title></item></rdf:RDF>"""
    parsed = parse_document(body.encode(), url="https://news.example/feed", headers={}, max_entries=100)
    assert parsed.hints == Hints(update_period_seconds=1800)
