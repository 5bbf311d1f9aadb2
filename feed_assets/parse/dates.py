"""Dates as publishers write them, in UTC; None when nobody can tell.

Nearly all feeds write RFC 822 or ISO 8601, so these two have a short way. The long way reads what a person could read,
in the languages of `datenames`. Only the beginning of a text is looked at, so that no text takes long.
"""

from __future__ import annotations

import calendar
import html
import re
import time
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from feed_assets.parse.datenames import BUDDHIST_YEARS, CHINESE_NUMERALS, LONG_ZONES, MERIDIEM, MONTHS, THAI_MONTHS, ZONES, fold

LONGEST = 100  # characters; "Wednesday, 24 September 2025 at 12:00:00 AM GMT+02:00 (Central European Summer Time)" has 83
_AT_UTC = timedelta(0)
_Date = tuple[int, int, int]  # year, month, day; perhaps not in any calendar


def from_struct(value: time.struct_time | None) -> datetime | None:
    """From feedparser's struct_time, which is in UTC."""
    if value is None:
        return None
    try:
        return datetime.fromtimestamp(calendar.timegm(value), UTC)
    except (ValueError, OverflowError, OSError):
        return None


_RFC_822 = re.compile(
    r"(?:[^0-9 ,]{1,15},? *)?"  # the weekday says nothing that the date does not, and is often wrong
    r"([0-9]{1,2}) +([^0-9 .]{3,12})\.? +([0-9]{4}|[0-9]{2})"
    r"(?: +([0-9]{1,2}):([0-9]{2})(?::([0-9]{2}))? *([+-][0-9]{2}:?[0-9]{2}|[A-Za-z]{1,5})?)?"
)
_NUMBERS: dict[str | None, int] = {None: 0, **{str(n): n for n in range(10)}, **{f"{n:02}": n for n in range(100)}}  # faster than int()


_USUAL_ENDS = frozenset((" GMT", " +0000", " UTC", " Z", " -0000"))


def _as_nearly_all_write_it(text: str) -> datetime | None:
    """`Wed, 02 Oct 2002 13:00:00 GMT`, to the letter: four in five dates of real feeds."""
    if text[3:5] != ", " or text[19:23:3] != "::" or text[25:] not in _USUAL_ENDS or text[7] != " " or text[11] != " " or text[16] != " ":
        return None
    try:
        date = int(text[12:16]), MONTHS[text[8:11]], _NUMBERS[text[5:7]]
        return datetime(*date, _NUMBERS[text[17:19]], _NUMBERS[text[20:22]], _NUMBERS[text[23:25]], 0, UTC)
    except (KeyError, ValueError):
        return None


def parse_date(text: str | None) -> datetime | None:
    """The moment a publisher means, in UTC. A missing or unknown zone is taken as UTC, as RFC 2822 says."""
    if not isinstance(text, str):
        return None
    if (moment := _as_nearly_all_write_it(text)) is not None:
        return moment
    text = text.strip()
    if len(text) > LONGEST:
        text = text[:LONGEST]
    if (text[4:5] == "-" and text[10:11] in "Tt ") or text[8:9] == "T":
        if moment := _iso(text) or _iso(text.upper()):  # fromisoformat knows no small t and z
            return moment
    elif match := _RFC_822.fullmatch(text):
        day, name, year, hour, minute, second, zone = match.groups()
        month = MONTHS.get(name) or MONTHS.get(fold(name))
        offset = ZONES.get(zone) if zone else _AT_UTC
        if month and offset is not None:
            date = (int(year) if len(year) == 4 else _full_year(year), month, _NUMBERS[day])
            if moment := _moment(date, _NUMBERS[hour], _NUMBERS[minute], _NUMBERS[second], 0, offset):
                return moment
    text = html.unescape(text)
    return _the_long_way(fold(_from_thai(text) if _THAI.search(text) else text))


_THAI = re.compile("[\u0e01-\u0e5b]")
_THAI_MONTH = re.compile("|".join(map(re.escape, THAI_MONTHS)))
_BUDDHIST_YEAR = re.compile(r"(?<!\d)2[45]\d\d(?!\d)")


def _from_thai(text: str) -> str:
    """Short months have dots and differ in accents only; years count from the Buddha."""
    text = _THAI_MONTH.sub(lambda found: f" {calendar.month_name[THAI_MONTHS[found[0]]]} ", text)
    return _BUDDHIST_YEAR.sub(lambda found: str(int(found[0]) - BUDDHIST_YEARS), text)


def _iso(text: str) -> datetime | None:
    try:
        moment = datetime.fromisoformat(text)
        if moment.tzinfo is None:
            return datetime.combine(moment, moment.time(), UTC)  # several times as fast as replace(tzinfo=UTC)
        return moment.astimezone(UTC)
    except (ValueError, OverflowError):
        return None  # perhaps nearly ISO 8601: the long way can tell


def _moment(date: _Date, hour: int, minute: int, second: int, microsecond: int, offset: timedelta) -> datetime | None:
    if second == 60:
        second = 59  # a leap second, which Python's clock does not have
    try:
        if hour == 24 and not minute and not second:
            return datetime(*date, tzinfo=UTC) + timedelta(days=1) - offset
        moment = datetime(*date, hour, minute, second, microsecond, UTC)
        return moment - offset if offset else moment
    except (ValueError, OverflowError):
        return None


def _full_year(digits: str) -> int:
    """RFC 2822 for short years: 25 is 2025, 99 is 1999, and 103, from software that counts from 1900, is 2003. 69 turns as in POSIX."""
    year = int(digits)
    if len(digits) > 3:
        return year
    return year + 2000 if len(digits) < 3 and year < 69 else year + 1900


_UNIX_TIME = re.compile(r"(\d{10})(\d{3})?(?:\.\d*)?")
_YEAR_AND_MONTH = re.compile(r"(\d{4})(?:[-/.](\d{1,2}))?")
_WITHOUT_SEPARATORS = re.compile(r"(\d{4})(\d\d)(\d\d)(?:[t ]?(\d\d):?(\d\d)(?::?(\d\d))?)?(?!\d)")  # 20250603, 20250603093921
_TIME_WITHOUT_COLON = re.compile(r"(\d{1,2}[ -][^\W\d_]+[ -](?:\d\d){1,2}) (\d\d)(\d\d)(?!\d)")  # 03 Apr 02 1500 GMT


_ISO_WITHOUT_CENTURY = re.compile(r"(\d\d)(-?)(\d\d)\2(\d\d)")
_ISO_DAY_OF_YEAR = re.compile(r"(\d{4}|\d\d(?=-))-?(\d{3})")


def _rare_iso(text: str) -> datetime | None:
    """031231 and 03-12-31; 2003-335, the 335th day of 2003."""
    if match := _ISO_WITHOUT_CENTURY.fullmatch(text):
        return _moment((_full_year(match[1]), int(match[3]), int(match[4])), 0, 0, 0, 0, _AT_UTC)
    if (match := _ISO_DAY_OF_YEAR.fullmatch(text)) and 1 <= int(match[2]) <= 366 and (year := _full_year(match[1])):
        return datetime(year, 1, 1, tzinfo=UTC) + timedelta(days=int(match[2]) - 1) if year < 9999 else None
    return None


def _the_long_way(text: str) -> datetime | None:
    if moment := _rare_iso(text):
        return moment
    if match := _UNIX_TIME.fullmatch(text):
        return datetime.fromtimestamp(int(match[1]), UTC) + timedelta(milliseconds=int(match[2] or 0))
    if match := _YEAR_AND_MONTH.fullmatch(text):
        return _moment((int(match[1]), int(match[2] or 1), 1), 0, 0, 0, 0, _AT_UTC)
    if match := _WITHOUT_SEPARATORS.match(text):
        year, month, day, hour, minute, second = match.groups("00")
        text = f"{year}-{month}-{day} {hour}:{minute}:{second}{text[match.end() :]}"
    text = _TIME_WITHOUT_COLON.sub(r"\1 \2:\3", text)
    # A date in digits has to be cut out before the time is looked for, and a date in words after: 10.05 may be part of a date.
    date, text = _date_in_digits(text)
    clock = _clock(text)
    date = date or _date_in_words(clock.rest)
    if date is None:
        return None
    moment = _moment(date, clock.hour, clock.minute, clock.second, clock.microsecond, clock.offset)
    if moment is None and (clock.hour > 23 or clock.minute > 59 or clock.second > 59):
        return _moment(date, 0, 0, 0, 0, _AT_UTC) if 1 < date[0] < 9999 else None  # the day is plain all the same
    return moment


_YEAR_FIRST = re.compile(r"(?<![\d+-])(\d{4}) ?[-/.年년] ?(\d{1,2}) ?[-/.月월] ?(\d{1,2})(?!\d) ?[日일.]?")  # no year is negative
_YEAR_LAST = re.compile(r"(?<!\d)(\d{1,2}) ?([-/.]) ?(\d{1,2}) ?\2 ?(\d{4})(?!\d)")
_YEAR_LAST_AND_RARE = re.compile(r"(?<!\d)(\d{1,2})([/. ])(\d{1,2})\2((?<=[/.])\d{2}|(?<= )\d{4})(?!\d)")  # 09.05.25, 09 5 2025


def _date_in_digits(text: str) -> tuple[_Date | None, str]:
    """The date, and the text without it."""
    if match := _YEAR_FIRST.search(text):
        date = (int(match[1]), int(match[2]), int(match[3]))
    elif match := _YEAR_LAST.search(text) or (_YEAR_LAST_AND_RARE.search(text) if _month_in_words(text) is None else None):
        day, month = int(match[1]), int(match[3])
        if (match[2] == "/" and day <= 12) or month > 12:
            day, month = month, day  # only Americans write the month first, and they write it with slashes
        date = (_full_year(match[4]), month, day)
    else:
        return None, text
    return date, f"{text[: match.start()]} {text[match.end() :]}"


_WORD = re.compile(r"[^\W\d_]+")
# 5月 and 五月 in Chinese and Japanese, 5월 in Korean, tháng 5 and thg 5 in Vietnamese
_NUMBERED_MONTH = re.compile(r"(?<!\d)(\d{1,2}|[一二三四五六七八九十]{1,2}) ?[月월]|\bth(?:ang|g) ?(\d{1,2})(?!\d)")
_NUMBER = re.compile(r"(?<![\d+])\d{1,4}(?!\d)")
_NEGATIVE_YEAR = re.compile(r"(?<!\S)-\d{3}")  # PHP writes MySQL's 0000-00-00 as "30 Nov -0001"


def _month_in_words(text: str) -> tuple[int, re.Match[str]] | None:
    if match := _NUMBERED_MONTH.search(text):
        number = match[1] or match[2]
        return (int(number) if number.isdigit() else CHINESE_NUMERALS.get(number, 0)), match
    # The last one: the first may be a weekday, as in "mar. 6 mai 2025".
    found = [match for match in _WORD.finditer(text) if match[0] in MONTHS]
    return (MONTHS[found[-1][0]], found[-1]) if found else None


def _date_in_words(text: str) -> _Date | None:
    named = _month_in_words(text)
    if named is None or _NEGATIVE_YEAR.search(text):
        return None
    month, name = named
    numbers = [match for match in _NUMBER.finditer(text) if match.end() <= name.start() or match.start() >= name.end()]
    days = [match for match in numbers if len(match[0]) < 3]
    years = [match[0] for match in numbers if len(match[0]) > 2]
    if not years and len(days) == 2 and name.re is _WORD:  # in Chinese and Japanese, a short year counts from an emperor or a republic
        return _full_year(days[1][0]), month, int(days[0][0])
    if len(years) != 1 or (name.re is not _WORD and len(years[0]) < 4):
        return None
    # The number next to the month is the day; another may belong to the weekday, as in Vietnamese. No number is the first, as in ISO 8601.
    nearest = min(days, key=lambda match: max(name.start() - match.end(), match.start() - name.end()), default=None)
    return _full_year(years[0]), month, int(nearest[0]) if nearest else 1


class _Clock(NamedTuple):
    hour: int
    minute: int
    second: int
    microsecond: int
    offset: timedelta
    rest: str  # the text without the time and its zone


_HALF = r"(?:[ap]\.? ?m\b|[πμ]\.? ?μ\b|[صم]\b|오[전후]|[上下]午|午[前後]|凌晨|早上|中午|晚上)"
_HOUR = rf"(?:(?P<before>{_HALF}) ?)?(?<![\d+-])(?P<hour>\d{{1,2}})"  # not after a sign: that is a zone
_MINUTE = r"(?P<minute>\d{1,2})(?!\d)"
_SECOND = r"(?P<second>\d{1,2})(?!\d)(?:[.,:](?P<fraction>\d+))?"
_TIMES = (
    re.compile(rf"{_HOUR} ?[:h시点點時时] ?{_MINUTE}(?: ?[:m分분] ?{_SECOND})?(?: ?[ms分분秒초](?![^\W\d_]))?(?: ?(?P<after>{_HALF})\.?)?"),
    re.compile(rf"(?<!\.){_HOUR}\.(?=\d\d){_MINUTE}(?:\.(?=\d\d){_SECOND})?(?![\d.])"),  # Danish, Finnish: kl. 10.05
    re.compile(rf"{_HOUR} ?(?:(?P<after>{_HALF})|(?:h|uhr)\b|[시点點時时])"),  # 9 pm, 15 Uhr
)
_OFFSET = re.compile(r"[ (\[]*(?:utc|gmt|ut|z)? ?([+-]) ?(\d{1,2})(?::?(\d\d))?(?!\d)")
_UNSIGNED_OFFSET = re.compile(r" ()(0\d|1[0-4])([0-5]\d)$")  # 0200: the plus was lost on its way through a URL
_YEAR = re.compile(r"\d{4}")
_OFFSET_OF_A_DAY = re.compile(r" ([+-])(\d\d):?(\d\d)$")


def _clock(text: str) -> _Clock:
    match = next((match for pattern in _TIMES if (match := pattern.search(text))), None)
    if match is None:
        zone = _OFFSET_OF_A_DAY.search(text)
        return _Clock(0, 0, 0, 0, _offset(zone) if zone else _AT_UTC, text[: zone.start()] if zone else text)
    parts = match.groupdict()
    end = match.end()
    if zone := _OFFSET.match(text, end) or (_YEAR.search(text, 0, end) and _UNSIGNED_OFFSET.match(text, end)):
        offset, end = _offset(zone), zone.end()
    else:
        offset = _named_offset(text[end:])
    return _Clock(
        _of_the_day(int(parts["hour"]), parts["before"] or parts.get("after")),
        int(parts.get("minute") or 0),
        int(parts.get("second") or 0),
        int((parts.get("fraction") or "0")[:6].ljust(6, "0")),
        offset,
        f"{text[: match.start()]} {text[end:]}",
    )


def _named_offset(text: str) -> timedelta:
    """Of EST, or of "Pacific Standard Time", which is told apart from its short words first."""
    longest = max((name for name in LONG_ZONES if name in text), key=len, default=None) if " time" in text else None
    if longest:
        return LONG_ZONES[longest]
    return next((ZONES[word] for word in _WORD.findall(text) if word in ZONES), _AT_UTC)


def _of_the_day(hour: int, half: str | None) -> int:
    if not half or hour > 12:
        return hour  # "15:05 PM" is said by software that knows no better
    return hour % 12 + 12 * MERIDIEM["".join(_WORD.findall(half))]


def _offset(match: re.Match[str]) -> timedelta:
    hours, minutes = int(match[2]), int(match[3] or 0)
    if hours > 23 or minutes > 59:
        return _AT_UTC
    offset = timedelta(hours=hours, minutes=minutes)
    return -offset if match[1] == "-" else offset
