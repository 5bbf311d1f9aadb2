"""One spelling for all URLs of a page, and different ones for different pages."""

from __future__ import annotations

import time

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from feed_assets.decide.canonical import canonical_url, identity_url, path_key

PAGE = "https://news.example/a"
SESSION = "0123456789abcdef0123456789abcdef"
TRACKING = (
    "utm_source=rss&utm_medium=feed", "UTM_Source=rss", "fbclid=x&gclid=y&mc_cid=z", "gbraid=1", "wbraid=1", "dclid=1", "msclkid=1",
    "yclid=1", "ysclid=1", "igshid=1", "igsh=1", "mc_eid=1", "mkt_tok=1", "_hsenc=1", "_hsmi=1", "hsa_acc=1", "pk_campaign=1",
    "piwik_kwd=1", "mtm_source=1", "matomo_kwd=1", "at_medium=RSS&at_campaign=KARANGA", "at_bbc_team=editorial", "xtor=AL-72-%5Bp%5D",
    "ns_mchannel=rss&ns_source=x&ns_campaign=y&ns_linkname=z&ns_fee=0", "ftag=CAD1", "cmpid=1", "CMP=share_btn_url", "ICID=1",
    "ito=1490", "ocid=1", "ncid=1", "sr_share=1", "smid=tw", "smtyp=cur", "partner=rss&emc=rss", "ref=rss", "ref_src=twsrc", "source=rss",
    "source=rss_feed", "mod=rss_markets_main", "mod=mw_rss_topstories", "from=feed", "amp", "amp=1", "amp=true", "outputType=amp",
    "output=amp", "WT.mc_id=1", "wt_zmc=1", "oly_enc_id=1", "vero_id=1", "_ga=1.2", "_gl=1", "s_cid=1", "spm=a.b.c",
    "__twitter_impression=true", "guccounter=1&guce_referrer=x", "traffic_source=Connatix", "rss=1", "feed=rss2", ".tsrc=rss",
    "__cft__[0]=x", f"sid={SESSION}", f"PHPSESSID={SESSION}", "jsessionid=AB.node1", "amp;utm_source=rss&amp;utm_medium=x", "Echobox=17",
)  # fmt: skip


@pytest.mark.parametrize(
    "spelling",
    [
        "http://news.example/a",
        "https://www.news.example/a",
        "https://NEWS.example/a",
        "HTTPS://news.example/a",
        "https://news.example./a",
        "https://news.example:443/a",
        "http://news.example:80/a",
        "https://news.example:/a",
        "https://news.example/a/",
        "https://news.example//a//",
        "https://news.example/./b/../a",
        "https://news.example/b/%2E%2E/a",
        "https://news.example/%61",
        "https://news.example/a/index.html",
        "https://news.example/a/index.php",
        "https://news.example/a/Default.aspx",
        "https://news.example/a#comments",
        "https://news.example/a#xtor=RSS-1",
        "https://news.example/a?",
        "https://news.example/a?&",
        "https://news.example/a/amp",
        "https://news.example/a/amp/",
        "https://news.example/a.amp",
        "https://news.example/a/index.amp.html",
        "https://news.example/a;jsessionid=0A1B2C.node3?utm_source=rss",
        f"https://news.example/a;sid={SESSION}",
        "https://user:password@news.example/a",
        "  https://news.example/a  ",
        "https://news.exa\nmple/a",
        *(f"https://news.example/a?{parameters}" for parameters in TRACKING),
    ],
)
def test_spellings_of_one_page(spelling: str) -> None:
    assert canonical_url(spelling) == PAGE


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("https://news.example/a", "https://news.example/b"),
        ("https://news.example/a", "https://news.example/A"),
        ("https://news.example/a", "https://blog.news.example/a"),
        ("https://news.example/a", "https://news.example:8443/a"),
        ("https://news.example/a?id=1", "https://news.example/a?id=2"),
        ("https://news.example/a?id=1", "https://news.example/a"),
        ("https://news.example/a?id", "https://news.example/a"),
        ("https://news.example/a?id=1&id=2", "https://news.example/a?id=1"),
        ("https://news.example/a?q=a%26b=c", "https://news.example/a?q=a&b=c"),
        ("https://news.example/a?q=a%2Bb", "https://news.example/a?q=a+b"),
        ("https://news.example/?q=%E9", "https://news.example/?q=%E8"),
        ("https://news.example/?p=1", "https://news.example/?p=2"),
        ("https://news.example/?story=1", "https://news.example/?story=2"),
        ("https://news.example/?page=1", "https://news.example/?page=2"),
        ("https://news.example/?ref=1234", "https://news.example/?ref=1235"),
        ("https://news.example/?source=reuters", "https://news.example/?source=afp"),
        ("https://news.example/?feed=local", "https://news.example/?feed=sport"),
        ("https://news.example/?feature=12", "https://news.example/?feature=13"),
        ("https://news.example/?si=12", "https://news.example/?si=13"),
        ("https://news.example/?sid=41", "https://news.example/?sid=42"),
        ("https://news.example/?sid=507f1f77bcf86cd799439011", "https://news.example/?sid=507f1f77bcf86cd799439012"),
        ("https://news.example/?amp=40", "https://news.example/?amp=100"),
        ("https://news.example/?output=pdf", "https://news.example/"),
        ("https://www.youtube.com/watch?v=a", "https://www.youtube.com/watch?v=b"),
        ("https://www.youtube.com/watch?v=a", "https://www.youtube.com/watch?v=A"),
        ("https://news.example/amp-news", "https://news.example/news"),
        ("https://news.example/amp-news", "https://news.example/-news"),
        ("https://news.example/amplifier", "https://news.example/lifier"),
        ("https://news.example/amp/a", "https://news.example/a"),
        ("https://news.example/amp", "https://news.example/"),
        ("https://news.example/a-amp", "https://news.example/a"),
        ("https://news.example/a%2Fb", "https://news.example/a/b"),
        ("https://news.example/a%3Fb", "https://news.example/a?b"),
        ("https://news.example/a%252F", "https://news.example/a%2F"),
        ("https://news.example/index.html/a", "https://news.example/a"),
        ("https://news.example/a;v=1", "https://news.example/a;v=2"),
        ("https://news.example/#!/a", "https://news.example/#!/b"),
        ("https://news.example/#/a", "https://news.example/#/b"),
        ("https://news.example/", "https://www.example/"),
        ("https://www.co.uk/", "https://co.uk/"),
        ("https://mobile.de/", "https://de/"),
        ("https://m.co.uk/", "https://co.uk/"),
        ("https://straße.de/", "https://strasse.de/"),
        ("https://www.google.com/url?url=https://news.example/a", "https://www.google.com/url?url=https://news.example/b"),
        ("https://www.google.com/search?q=https://news.example/a", "https://news.example/a"),
        ("https://other.example/url?url=https://news.example/a", "https://news.example/a"),
    ],
)
def test_different_pages_stay_different(one: str, other: str) -> None:
    assert canonical_url(one) != canonical_url(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("https://news.example/a?b=2&a=1", "https://news.example/a?a=1&b=2"),
        ("https://news.example/a?id=1&utm_campaign=x", "http://www.news.example/a/?id=1"),
        ("https://news.example/a?x=1&amp;y=2", "https://news.example/a?x=1&y=2"),
        ("https://news.example/a?id=", "https://news.example/a?id"),
        ("https://news.example", "https://news.example/"),
        ("https://news.example/?q=a+b", "https://news.example/?q=a%20b"),
        ("https://news.example/?u=a/b", "https://news.example/?u=a%2fb"),
        ("https://news.example/é", "https://news.example/%c3%a9"),
        ("https://news.example/a b", "https://news.example/a%20b"),
        ("https://news.example/a,b", "https://news.example/a%2Cb"),
        ("https://news.example/a.amp.html", "https://news.example/a.html"),
        ("https://m.example.com/a", "https://www.example.com/a"),
        ("https://mobile.example.com/a", "https://example.com/a"),
        ("https://amp.example.co.uk/a", "https://example.co.uk/a"),
        ("https://www.m.example.com/a", "https://example.com/a"),
        ("https://bücher.de/a", "https://xn--bcher-kva.de/a"),
        ("https://BÜCHER.de/a", "https://XN--BCHER-KVA.de/a"),
        ("https://bücher。de/a", "https://bücher.de/a"),
        ("https://www.youtube.com/watch?v=a&feature=youtu.be&si=x", "https://youtube.com/watch?v=a"),
        ("https://youtu.be/a?si=x", "https://youtu.be/a"),
        ("https://open.spotify.com/episode/a?si=x", "https://open.spotify.com/episode/a"),
        ("https://news-example-com.cdn.ampproject.org/c/s/news.example.com/a/amp/?amp_js_v=0.1&usqp=m", "https://news.example.com/a"),
        ("https://cdn.ampproject.org/v/s/www.example.com/a?id=1", "https://example.com/a?id=1"),
        ("https://www.google.com/amp/s/www.example.com/a.amp", "https://example.com/a"),
        ("https://www.google.co.uk/amp/example.com/a", "https://example.com/a"),
        ("https://www.google.com/url?rct=j&sa=t&url=https://news.example/a%3Fid%3D1&ct=ga&usg=x", "https://news.example/a?id=1"),
        ("https://www.google.de/url?q=https%3A%2F%2Fnews.example%2Fa", PAGE),
        ("http://www.bing.com/news/apiclick.aspx?ref=FexRss&aid=&url=https%3a%2f%2fnews.example%2fa&c=1", PAGE),
        ("https://www.google.com/url?url=https://www.google.com/amp/s/example.com/a/amp", "https://example.com/a"),
    ],
)
def test_pairs_that_are_one_page(one: str, other: str) -> None:
    assert canonical_url(one) == canonical_url(other)
    assert canonical_url(one) is not None


@pytest.mark.parametrize(
    "url",
    [
        *(None, "", " ", "mailto:a@b.example", "urn:1", "/relative", "//news.example/a", "news.example/a", "https://", "http://[bad"),
        *("https://e.example:99999/", "https://e..example/", "https://a b/", "https://e.example\\a", f"https://{'a' * 300}.example/"),
        *("ftp://news.example/a", "https:///a", "https://[fe80::1%25eth0]/", "https://news.example/\ud800", "javascript:alert(1)"),
    ],
)
def test_what_is_no_web_address_has_no_canonical_url(url: str | None) -> None:
    assert canonical_url(url) is None


@pytest.mark.parametrize(
    "url", ["https://google.com/url?url=https://", "https://google.com/amp/s/", "https://google.com/url?url=https://a%FF/"]
)
def test_a_wrapper_around_nothing_stays(url: str) -> None:
    assert str(canonical_url(url)).startswith("https://google.com/")


def test_an_ipv6_host_keeps_its_brackets() -> None:
    assert canonical_url("http://[2001:db8::1]:8080/a") == "https://[2001:db8::1]:8080/a"
    assert canonical_url("http://[2001:DB8:0::1]/a") == "https://[2001:db8::1]/a"


PIECES = st.sampled_from([
    "/", "//", ".", "..", "%2e", "%2F", "%", "%25", "%zz", "%C3", "é", "ß", "Σ", "。", "amp", ".amp", ".html", "index.html",
    ";", "jsessionid=", "sid=", SESSION, "?", "&", "=", "amp;", "+", " ", "#", "!", "#!/", "utm_a=1", "id=1", "url=", "https://",
    "https%3A%2F%2F", "www.", "m.", "google.com/url?url=", "google.com/amp/s/", "cdn.ampproject.org/c/s/", "example.com", "co.uk",
    "xn--", ":", ":80", "@", "[", "]", "\\",
])  # fmt: skip
ANYTHING = st.lists(PIECES | st.text(max_size=4), max_size=12).map("".join)
EVERYWHERE = ("", "https://", "https://example.com", "https://example.com/", "https://m.google.com/url?url=")


@settings(max_examples=600, deadline=None, database=None, derandomize=True)
@given(ANYTHING, st.sampled_from(EVERYWHERE))
@example("..amp", "https://example.com/")
@example(f"a;sid={SESSION}.amp", "https://example.com/")
@example("é" * 1500, "https://example.com/")
@example("google.com/url?url=https://" * 12, "https://")
def test_a_canonical_url_stays_as_it_is_and_nothing_fails(text: str, before: str) -> None:
    once = canonical_url(before + text)
    assert canonical_url(once) == once
    assert once is None or once.isascii()
    assert path_key(before + text) == (path_key(once) if once else "")
    identity_url(before + text)


@settings(max_examples=200, deadline=None, database=None, derandomize=True)
@given(st.text(max_size=40))
def test_no_text_makes_it_fail(text: str) -> None:
    assert canonical_url(text) is None or "://" in text
    assert "://" in text or identity_url(text) == text


@settings(max_examples=200, deadline=None, database=None, derandomize=True)
@given(st.text(st.characters(min_codepoint=33, max_codepoint=126), max_size=40))
def test_every_path_has_a_canonical_url(text: str) -> None:
    assert canonical_url(f"https://news.example/{text}") is not None


@pytest.mark.parametrize(
    "piece", ["a/", "a&", "utm_a=1&", ";jsessionid=", ".amp", "amp;", "m.", "?", "#", "%", "%41", "é", "../", "=", " "]
)
def test_a_megabyte_takes_no_time(piece: str) -> None:
    started = time.perf_counter()
    for before in ("https://", "https://news.example/", "https://news.example/?", "https://news.example/#"):
        url = before + piece * (1_000_000 // len(piece))
        canonical_url(url), identity_url(url), path_key(url)
        canonical_url(url[:4096])
    assert time.perf_counter() - started < 5


@pytest.mark.parametrize(
    ("url", "identity"),
    [
        ("https://www.news.example/a", "news.example/a"),
        ("http://news.example/a", "news.example/a"),
        ("HTTPS://news.example/a", "news.example/a"),
        ("https://news.example/a/", "news.example/a/"),
        ("https://news.example/a?b=2&utm_source=rss&a=1", "news.example/a?b=2&a=1"),
        ("https://news.example/a?utm_source=rss", "news.example/a"),
        ("https://news.example/a?x=1&amp;utm_source=rss", "news.example/a?x=1"),
        ("https://news.example/a;jsessionid=1?x=1", "news.example/a?x=1"),
        ("https://youtube.com/watch?v=a&si=b", "youtube.com/watch?v=a"),
        ("https://news.example/a?si=b", "news.example/a?si=b"),
        ("https://news.example/a#xtor=RSS-1", "news.example/a"),
        ("https://news.example/a#utm_source=rss&utm_medium=x", "news.example/a"),
        ("https://news.example/a#rss", "news.example/a"),
        ("https://news.example/a#ref=rss", "news.example/a"),
        ("https://news.example/a#Echobox=1700000000", "news.example/a"),
        ("https://news.example/log#v1.2", "news.example/log#v1.2"),
        ("https://news.example/log#amp", "news.example/log#amp"),
        ("https://news.example/log#id=1&utm_source=rss", "news.example/log#id=1&utm_source=rss"),
        ("https://news.example/a?id=1#comment-2", "news.example/a?id=1#comment-2"),
        ("urn:uuid:1?utm_source=rss", "urn:uuid:1?utm_source=rss"),
        ("tag:news.example,2024:/a#1", "tag:news.example,2024:/a#1"),
        ("ftp://www.news.example/a", "ftp://www.news.example/a"),
        ("", ""),
    ],
)
def test_what_tells_the_items_of_one_feed_apart(url: str, identity: str) -> None:
    assert identity_url(url) == identity


@pytest.mark.parametrize("parameters", TRACKING)
def test_tracking_never_makes_an_item_a_new_one(parameters: str) -> None:
    assert identity_url(f"https://news.example/a?{parameters}") == "news.example/a"


@pytest.mark.parametrize(
    ("url", "key"),
    [
        ("https://old.example/2024/a/?utm_source=rss", "/2024/a"),
        ("https://new.example/?p=12", "/?p=12"),
        ("https://new.example/#!/a", "/#!/a"),
        ("https://new.example/", ""),
        ("https://new.example/index.html?utm_source=rss", ""),
        ("urn:uuid:1", ""),
    ],
)
def test_a_page_is_known_by_its_path_after_its_site_moved(url: str, key: str) -> None:
    assert path_key(url) == key


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("https://youtu.be/dQw4w9WgXcQ?si=abc", "https://www.youtube.com/watch?v=dQw4w9WgXcQ", True),
        ("https://en.m.wikipedia.org/wiki/RSS", "https://en.wikipedia.org/wiki/RSS", True),
        ("https://github.com/o/amp", "https://github.com/o", False),
        ("https://news.example/?at_pk=1", "https://news.example/?at_pk=2", False),
        ("https://news.example/a?at_medium=RSS&at_campaign=KARANGA", "https://news.example/a", True),
        ("https://news.example/a?rnd=1", "https://news.example/a?rnd=2", True),
    ],
)
def test_what_is_one_page_and_what_only_looks_like_it(one: str, other: str, same: bool) -> None:
    assert (canonical_url(one) == canonical_url(other)) is same
