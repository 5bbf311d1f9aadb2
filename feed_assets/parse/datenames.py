"""The words that publishers use in dates: months, halves of the day, zones. Only tables, and the one way to spell their keys."""

from __future__ import annotations

import unicodedata
from datetime import timedelta

_ONE_SPELLING = str.maketrans({"ı": "i", "−": "-", "–": "-", "—": "-"})  # Unicode knows no other spelling for these


def fold(text: str) -> str:
    """In lower case, without accents, invisible characters and double blanks, with the digits 0 to 9: März, MÄRZ and marz are one word."""
    text = text.casefold()
    if not text.isascii():
        # Decomposed, the accents are characters of their own. Composed again, Hangul is syllables again.
        parts = unicodedata.normalize("NFKD", text).translate(_ONE_SPELLING)
        text = unicodedata.normalize("NFC", "".join(map(_plain, parts)))
    return " ".join(text.split())


def _plain(character: str) -> str:
    if character.isascii():
        return character
    if unicodedata.category(character) in ("Mn", "Mc", "Cf"):
        return ""
    digit = unicodedata.decimal(character, None)
    return character if digit is None else str(digit)


# Where languages disagree, the more common one is here:
# - "srpen" and "srp" are August (Czech), not July (Croatian); "listopad" and "lis" are November (Polish, Czech), not October (Croatian).
# - "mar" is March, though it is Tuesday in French, Spanish and Italian; a second month name in the same date settles it.
# - "jui" is left out: it may be juin or juillet.
_MONTHS = (
    # A string per month: the Latin script, then Greek, Cyrillic, Arabic (Gulf, Levant, Maghreb), Hebrew, Thai, Hindi, Persian.
    # `fold` takes the accents off.
    """january januar januari janvier jan janv jänner jän jaenner enero ene gener gen gennaio janeiro ianuarie ian
    styczeń stycznia sty leden ledna led január januára ocak oca tammikuu tammikuuta tammi Ιανουάριος Ιανουαρίου Ιαν
    январь января янв січень січня січ януари яну يناير جانفي ינואר ינו
    มกราคม जनवरी ژانویه""",
    """february februar februari februarie février févr fév feb febr feber febrero febrer febbraio fevereiro fev
    luty lutego lut únor února úno február februára şubat şub helmikuu helmikuuta helmi pebruari peb Φεβρουάριος Φεβρουαρίου Φεβ Φεβρ
    февраль февраля фев февр лютий лютого лют февруари فبراير شباط فيفري פברואר פבר
    กุมภาพันธ์ फरवरी फ़रवरी فوریه""",
    """march mar märz maerz mär mrz maart mrt marts mars marzo març março martie marzec marca březen března bře
    március márc marec mart maaliskuu maaliskuuta maalis maret Μάρτιος Μαρτίου Μαρ Μαρτ
    март марта мар березень березня бер مارس آذار מרץ מרס
    มีนาคม मार्च""",
    """april apr avril avr abril abr aprile aprilie kwiecień kwietnia kwi duben dubna dub
    április ápr apríl apríla nisan nis huhtikuu huhtikuuta huhti Απρίλιος Απριλίου Απρ
    апрель апреля апр квітень квітня кві квіт април أبريل ابريل إبريل نيسان أفريل אפריל אפר
    เมษายน अप्रैल آوریل""",
    """may mai mei maj mayo maig maggio mag maio maja květen května kvě
    május máj mája mayıs toukokuu toukokuuta touko Μάιος Μαΐου Μάι
    май мая травень травня тра трав مايو أيار ماي מאי
    พฤษภาคม मई مه""",
    """june juni jun juin junio juny giugno giu junho iunie iun czerwiec czerwca cze červen června čer čvn
    június jún júna haziran haz kesäkuu kesäkuuta kesä Ιούνιος Ιουνίου Ιουν
    июнь июня июн червень червня чер черв юни يونيو يونيه حزيران جوان יוני יונ
    มิถุนายน जून ژوئن""",
    """july juli jul juillet juil juill julio juliol luglio lug julho iulie iul lipiec lipca lip červenec července čvc
    július júl júla temmuz tem heinäkuu heinäkuuta heinä Ιούλιος Ιουλίου Ιουλ
    июль июля июл липень липня лип юли يوليو يوليه تموز جويلية يوليوز יולי יול
    กรกฎาคม जुलाई ژوئیه جولای""",
    """august aug augustus augusti août aou agosto ago agost ag sierpień sierpnia sie srpen srpna srp
    augusztus augusta ağustos ağu elokuu elokuuta elo agustus agu agt ags Αύγουστος Αυγούστου Αυγ
    август августа авг серпень серпня сер серп أغسطس اغسطس آب أوت غشت אוגוסט אוג
    สิงหาคม अगस्त اوت""",
    """september sept sep septembre septiembre setiembre setembre setembro settembre set septembrie wrzesień września wrz září zář
    szeptember szept sze septembra eylül eyl syyskuu syyskuuta syys Σεπτέμβριος Σεπτεμβρίου Σεπ Σεπτ
    сентябрь сентября сен сент вересень вересня вер септември сеп سبتمبر أيلول شتنبر ספטמבר ספט
    กันยายน सितंबर सितम्बर سپتامبر""",
    """october oct oktober okt octobre octubre ottobre ott outubro out octombrie październik października paź říjen října říj
    október októbra ekim eki lokakuu lokakuuta loka Οκτώβριος Οκτωβρίου Οκτ
    октябрь октября окт жовтень жовтня жов жовт октомври أكتوبر اكتوبر אוקטובר אוק
    ตุลาคม अक्टूबर अक्तूबर اکتبر""",
    """november nov novembre noviembre novembro noiembrie noi noiem listopad listopada lis listopadu
    novembra kasım kas marraskuu marraskuuta marras nopember nop Νοέμβριος Νοεμβρίου Νοε
    ноябрь ноября ноя нояб листопад листопада лис ноември ное نوفمبر نونبر נובמבר נוב
    พฤศจิกายน नवंबर नवम्बर نوامبر""",
    """december dec dezember dez desember des décembre diciembre dic desembre dicembre dezembro decembrie
    grudzień grudnia gru prosinec prosince pro decembra aralık ara joulukuu joulukuuta joulu Δεκέμβριος Δεκεμβρίου Δεκ
    декабрь декабря дек грудень грудня гру груд декември ديسمبر دجنبر דצמבר דצמ
    ธันวาคม दिसंबर दिसम्बर دسامبر""",
)

MONTHS: dict[str, int] = {}
for _number, _names in enumerate(_MONTHS, start=1):
    for _name in map(fold, _names.split()):
        MONTHS.update(dict.fromkeys((_name, _name.title(), _name.upper()), _number))  # as most write them, so that they need no folding
        if "\u05d0" <= _name[0] <= "\u05ea":
            MONTHS["ב" + _name] = _number  # Hebrew writes "in May" as one word, and dates are written so

# Written with dots, so that they are no words.
_SHORT_THAI = ("ม.ค.", "ก.พ.", "มี.ค.", "เม.ย.", "พ.ค.", "มิ.ย.", "ก.ค.", "ส.ค.", "ก.ย.", "ต.ค.", "พ.ย.", "ธ.ค.")
THAI_MONTHS = {name: number for number, name in enumerate(_SHORT_THAI, start=1)}
BUDDHIST_YEARS = 543  # ahead of others, where months are written in Thai

CHINESE_NUMERALS = {**{numeral: number for number, numeral in enumerate("一二三四五六七八九十", start=1)}, "十一": 11, "十二": 12}

MERIDIEM = {  # is it after noon?
    **dict.fromkeys(("am", "πμ", "ص", "오전", "上午", "午前", "凌晨", "早上"), False),
    **dict.fromkeys(("pm", "μμ", "م", "오후", "下午", "午後", "中午", "晚上"), True),
}

# Hours east of Greenwich. Where a name has several meanings, this is the one of RFC 822, or else of the most readers:
# CST is Chicago, not China; IST is India, not Israel or Ireland; BST is Britain, not Bangladesh; AST is Halifax, not Riyadh.
# ET, CT, MT and PT do not say whether it is summer; feedparser takes them as standard time, and so do we.
_ZONES: dict[float, str] = {
    -10: "HST",
    -9: "AKST",
    -8: "PST PT AKDT",
    -7: "MST PDT MT",
    -6: "CST MDT CT",
    -5: "EST CDT ET COT PET",
    -4: "EDT AST CLT VET",
    -3.5: "NST",
    -3: "ADT BRT ART UYT CLST",
    -2.5: "NDT",
    -2: "BRST",
    0: "UT UTC GMT Z WET",
    1: "WEST BST CET MEZ MET WAT",
    2: "CEST MESZ MEST EET CAT SAST",
    3: "EEST MSK МСК TRT EAT IDT",
    3.5: "IRST",
    4: "MSD GST SAMT",
    5: "PKT YEKT",
    5.5: "IST",
    5.75: "NPT",
    6: "OMST",
    7: "ICT WIB NOVT KRAT",
    8: "WITA SGT MYT PHT HKT AWST IRKT",
    9: "WIT JST KST YAKT",
    9.5: "ACST",
    10: "AEST VLAT",
    10.5: "ACDT",
    11: "AEDT MAGT",
    12: "PETT NZST",
    13: "NZDT",
}

_LONG_ZONES = {
    "eastern standard": -5, "eastern daylight": -4, "central standard": -6, "central daylight": -5, "mountain standard": -7,
    "mountain daylight": -6, "pacific standard": -8, "pacific daylight": -7, "greenwich mean": 0, "coordinated universal": 0,
    "british summer": 1, "western european": 0, "western european summer": 1, "central european": 1, "central european standard": 1,
    "central european summer": 2, "eastern european": 2, "eastern european summer": 3, "moscow standard": 3, "india standard": 5.5,
    "china standard": 8, "japan standard": 9, "korean standard": 9, "australian eastern standard": 10, "australian eastern daylight": 11,
}  # fmt: skip
LONG_ZONES = {f"{name} time": timedelta(hours=hours) for name, hours in _LONG_ZONES.items()}

ZONES: dict[str, timedelta] = {}
for _hours, _names in _ZONES.items():
    for _name in _names.split():
        ZONES[_name] = ZONES[_name.lower()] = timedelta(hours=_hours)
for _minutes in range(-12 * 60, 14 * 60 + 1, 15):  # every offset in use, ready made
    _sign, (_hour, _minute) = "-" if _minutes < 0 else "+", divmod(abs(_minutes), 60)
    for _colon in ("", ":"):
        ZONES[f"{_sign}{_hour:02}{_colon}{_minute:02}"] = timedelta(minutes=_minutes)
ZONES["-0000"] = ZONES["-00:00"] = timedelta(0)  # "the publisher does not say where", in RFC 2822
