"""The words of a text in any script, so that two spellings of a word are one: for headlines that are compared, and for stories."""

from __future__ import annotations

import re
import unicodedata

_ACCENTS = re.compile("[\u0300-\u036f]+")
_POSSESSIVE = re.compile(r"['’ʼ]s\b")
_THOUSANDS = re.compile(r"(?<=\d)[.,](?=\d{3}(?!\d))")
_NUMBER = re.compile(r"\d+(?:[.,:/⁄–-]\d+)+[a-z]*")  # a score, a time, "2.5bn": in parts they would tell less
DIGIT = re.compile(r"\d")
# Scripts that put no blanks between words: Thai, Lao, Burmese, Khmer, kana, Han.
_UNSPACED = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_RUNS = re.compile(f"[{_UNSPACED}]+|[^{_UNSPACED}]+")
UNSPACED_CHARACTER = re.compile(f"[{_UNSPACED}]")


def words_of(text: str) -> list[str]:
    """In any case and accent; scripts without blanks in pairs of neighbouring characters; numbers last."""
    if not text.isascii():
        text = unicodedata.normalize("NFC", _ACCENTS.sub("", unicodedata.normalize("NFKD", text)))
    text = _THOUSANDS.sub("", _POSSESSIVE.sub("", text.casefold()))
    numbers = [number.replace("–", "-").replace(",", ".") for number in _NUMBER.findall(text)]
    if numbers:
        text = _NUMBER.sub(" ", text)
    words = text.translate(_BLANKS).split()
    if not text.isascii():
        words = [token for word in words for run in _RUNS.findall(word) for token in _pairs(run)]
    return words + numbers


def _pairs(run: str) -> list[str]:
    return [run[i : i + 2] for i in range(len(run) - 1)] if len(run) > 2 and UNSPACED_CHARACTER.match(run) else [run]


class _Blanks(dict[int, str]):
    """A blank for all that is no letter, mark or digit. Vowel signs are marks: a pattern of \\w would cut Hindi words into pieces."""

    def __missing__(self, code: int) -> str:
        return self.setdefault(code, chr(code) if unicodedata.category(chr(code))[0] in "LMN" else " ")


_BLANKS = _Blanks()
