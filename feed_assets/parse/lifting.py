"""Long CDATA sections taken out before the XML parser sees them, and put back as text.

Most of a real feed is HTML in CDATA sections. An XML parser looks at each of its letters; searching for the section's
end and decoding it costs a tenth. The parser gets a placeholder that no document can guess.
"""

from __future__ import annotations

import re
import secrets

_WORTH_IT = 300  # bytes
_OPENING = re.compile(rb"<(description|content:encoded|content|summary)(?:\s[^<>]{0,200})?>\s{0,100}<!\[CDATA\[")
_CLOSING = re.compile(rb"\s{0,100}</(description|content:encoded|content|summary)\s{0,10}>")
_FORBIDDEN = bytes(code for code in range(32) if code not in b"\t\n\r")
_BEGIN, _END = "\ue000", "\ue001"


class Lifted(dict[str, str]):
    """Placeholder -> text."""

    def restored(self, text: str) -> str:
        """The text with what was lifted from it."""
        if not self or _BEGIN not in text:
            return text
        return self.get(text.strip()) or self._pattern().sub(lambda found: self.get(found[0], found[0]), text)

    @staticmethod
    def _pattern() -> re.Pattern[str]:
        return re.compile(f"{_BEGIN}[0-9a-f]+-[0-9]+{_END}")


def lift(body: bytes) -> tuple[bytes, Lifted]:
    """The document without its long CDATA sections, and those. Sections that are not clean UTF-8 stay for the parser to judge."""
    lifted = Lifted()
    if b"<![CDATA[" not in body:
        return body, lifted
    pieces: list[bytes] = []
    mark, copied, found = "", 0, _OPENING.search(body)
    while found:
        start = found.end()
        end = body.find(b"]]>", start)
        if end < 0:
            break
        text = _text(body[start:end]) if end - start >= _WORTH_IT and _closes(body, end, found[1]) else None
        if text is not None:
            mark = mark or secrets.token_hex(8)
            placeholder = f"{_BEGIN}{mark}-{len(lifted)}{_END}"
            lifted[placeholder] = text
            pieces += (body[copied : start - len(b"<![CDATA[")], placeholder.encode())
            copied = end + 3
        found = _OPENING.search(body, end)
    return (b"".join((*pieces, body[copied:])), lifted) if lifted else (body, lifted)


def _closes(body: bytes, end: int, name: bytes) -> bool:
    closing = _CLOSING.match(body, end + 3)
    return closing is not None and closing[1] == name


def _text(section: bytes) -> str | None:
    if len(section.translate(None, _FORBIDDEN)) != len(section):
        return None
    try:
        text = section.decode("utf-8")
    except UnicodeDecodeError:
        return None
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")  # as an XML parser reads line ends
    return None if "\ufffe" in text or "\uffff" in text else text
