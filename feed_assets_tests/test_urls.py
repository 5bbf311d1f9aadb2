"""Hosts, domains and credentials of URLs, also of those that no parser takes."""

from __future__ import annotations

import pytest

from feed_assets.urls import domain_of, host_of, mask_password, without_credentials


@pytest.mark.parametrize(
    ("url", "host"),
    [
        ("https://Example.com/feed", "example.com"),
        ("https://example.com:443/feed", "example.com"),
        ("http://example.com:80", "example.com"),
        ("http://example.com:443/feed", "example.com:443"),
        ("https://me:secret@example.com./feed", "example.com"),
        ("http://[::1]:8000/", "[::1]:8000"),
    ],
)
def test_feeds_of_one_host_have_one_name_for_it(url: str, host: str) -> None:
    assert host_of(url) == host


@pytest.mark.parametrize(
    ("url", "domain"),
    [("https://news.example.co.uk/feed", "example.co.uk"), ("http://127.0.0.1/feed", None), ("http://intranet/feed", None)],
)
def test_the_registrable_domain(url: str, domain: str | None) -> None:
    assert domain_of(url) == domain


@pytest.mark.parametrize(
    "url", ["https://ann:s3cret@example.com/feed", "https://ann:s3cret@example.com:port/", "http://ann:s3cret@[broken/"]
)
def test_no_credentials_are_left(url: str) -> None:
    assert "s3cret" not in mask_password(url)
    assert mask_password(url).startswith(url.partition("s3cret")[0])
    assert "ann" not in without_credentials(url)


def test_a_url_without_credentials_stays_as_it_is() -> None:
    url = "https://example.com/@ann:x?a=b@c"
    assert mask_password(url) == without_credentials(url) == url
