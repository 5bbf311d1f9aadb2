"""Any endpoint that speaks OpenAI's chat completions: a hosted model, or one on this machine.

The key is in the Authorization header and nowhere else: whatever comes back is read with the key blacked out.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from typing import Any
from urllib.parse import urlsplit

import requests
from urllib3.exceptions import HTTPError, ReadTimeoutError

from feed_assets.analyze.analyzer import ArticleText, AskAgain, BadAnswer, Refused, Unavailable
from feed_assets.analyze.answer import SCHEMA, plain, read_answer
from feed_assets.analyze.prompts import Prompt, fingerprint
from feed_assets.errors import AnalyzerUnusable, SettingsError
from feed_assets.model import Analysis
from feed_assets.settings import Settings
from feed_assets.urls import mask_password, without_credentials

_LONGEST_TEXT = 12_000  # characters of an article that are sent
_LARGEST_ANSWER = 1024 * 1024
_LONGEST_WAIT = timedelta(hours=24)
_PIECE = 64 * 1024
# Ways to ask for JSON, the strictest first: not every endpoint knows them all.
_FORMATS: tuple[Mapping[str, Any] | None, ...] = (
    {"type": "json_schema", "json_schema": {"name": "analysis", "strict": True, "schema": SCHEMA}},
    {"type": "json_object"},
    None,
)
_TEMPORARY = frozenset({408, 409, 425, 429})


class OpenAIAnalyzer:
    name = "openai"

    def __init__(self, settings: Settings, prompt: Prompt) -> None:
        if not settings.openai_model:
            raise SettingsError("ANALYZER is openai, and OPENAI_MODEL says no model; set FEED_ASSETS_OPENAI_MODEL")
        self._prompt = prompt
        self._model = settings.openai_model
        self._url = f"{settings.openai_base_url.rstrip('/')}/chat/completions"
        self._key = settings.openai_api_key
        self._seconds = settings.analysis_timeout_seconds
        self._format = 0  # the strictest that was not turned down
        self.prompt_version = fingerprint(prompt.text, self._model, json.dumps(SCHEMA, sort_keys=True))

    def analyze(self, article: ArticleText, *, complaint: str | None = None) -> Analysis:
        asked_for = self._format
        status, headers, body = self._post(self._question(article, complaint, _FORMATS[asked_for]))
        if status == 200:
            return self._read(body)
        said = self._complaint(body)
        reason = f"HTTP {status} from {self._place}" + (f": {said}" if said else "")
        if status in (401, 403):
            raise AnalyzerUnusable(f"{reason}; is OPENAI_API_KEY right?")
        if status == 404 or 300 <= status < 400:
            raise AnalyzerUnusable(f"{reason}; are OPENAI_BASE_URL and OPENAI_MODEL right?")
        if status in _TEMPORARY or status >= 500:
            raise Unavailable(reason, retry_after=_retry_after(headers))
        if _FORMATS[asked_for] is not None and any(word in said.lower() for word in ("response_format", "json_schema", "json_object")):
            self._format = max(self._format, asked_for + 1)
            raise AskAgain(reason)
        raise Refused(reason)

    @property
    def _place(self) -> str:
        return mask_password(urlsplit(self._url).netloc and f"//{urlsplit(self._url).netloc}").removeprefix("//")

    def _question(self, article: ArticleText, complaint: str | None, form: Mapping[str, Any] | None) -> dict[str, Any]:
        """The instructions, and apart from them the article, as JSON: nothing in it can pass for anything else."""
        told = {
            "headline": article.headline,
            "source": article.source,
            "url": without_credentials(article.url) if article.url else None,
            "published_at": article.published_at.isoformat(),
            "text": article.text[:_LONGEST_TEXT],
        }
        messages = [
            {"role": "system", "content": self._prompt.text},
            {"role": "user", "content": f"The article:\n{json.dumps(told, ensure_ascii=False)}"},
        ]
        if complaint:
            messages.append(
                {"role": "user", "content": f"Your last answer could not be used: {complaint}. Answer with the JSON object only."}
            )
        return {"model": self._model, "messages": messages} | ({"response_format": form} if form else {})

    def _post(self, question: Mapping[str, Any]) -> tuple[int, Mapping[str, str], bytes]:
        """Status, headers and body. The whole exchange has to be done in ANALYSIS_TIMEOUT_SECONDS."""
        ends = time.monotonic() + self._seconds
        data = json.dumps(question).encode()
        try:
            with requests.post(
                self._url,
                data=data,
                headers={"Content-Type": "application/json", "Accept": "application/json", "Accept-Encoding": "identity"},
                auth=self._authorized,
                timeout=self._seconds,
                stream=True,
                allow_redirects=False,  # a key is for the place it was given for
            ) as response:
                return response.status_code, response.headers, self._body(response, ends)
        except (requests.exceptions.Timeout, ReadTimeoutError):
            raise Unavailable(f"no answer from {self._place} in {self._seconds:g} s") from None
        except (requests.exceptions.InvalidURL, requests.exceptions.InvalidSchema, requests.exceptions.MissingSchema):
            raise AnalyzerUnusable("OPENAI_BASE_URL is not a URL that can be asked") from None
        except (requests.exceptions.RequestException, HTTPError, OSError) as error:
            raise Unavailable(f"{self._place} cannot be reached ({type(error).__name__})") from None

    def _body(self, response: requests.Response, ends: float) -> bytes:
        body = bytearray()
        while piece := response.raw.read1(_PIECE, decode_content=True):
            body += piece
            if len(body) > _LARGEST_ANSWER:
                raise BadAnswer(f"the answer is larger than {_LARGEST_ANSWER // 1024} kB")
            if time.monotonic() > ends:
                raise Unavailable(f"no answer from {self._place} in {self._seconds:g} s")
        return bytes(body)

    def _authorized(self, request: requests.PreparedRequest) -> requests.PreparedRequest:
        """As `auth`, so that no .netrc gets between."""
        if key := self._key.get_secret_value():
            request.headers["Authorization"] = f"Bearer {key}"
        return request

    def _read(self, body: bytes) -> Analysis:
        try:
            document = json.loads(self._without_key(body))
            choice = document["choices"][0]
            message = choice["message"]
            content, refusal, finish = message.get("content"), message.get("refusal"), choice.get("finish_reason")
            tokens = (document.get("usage") or {}).get("total_tokens")
        except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
            raise BadAnswer("the endpoint's answer is not a chat completion") from None
        if refusal:
            raise Refused(f"the model refuses: {plain(str(refusal), 300)}")
        if finish == "content_filter":
            raise Refused("the endpoint's content filter keeps the answer back")
        if finish == "length":
            raise BadAnswer("the answer is cut off: it is too long")
        if not isinstance(content, str) or not content.strip():
            raise BadAnswer("the answer is empty")
        answer = read_answer(content)
        spent = tokens if isinstance(tokens, int) and 0 <= tokens < 10**9 else 0
        return Analysis(answer.score, answer.summary, tuple(answer.facts), self.name, self.prompt_version, tokens=spent)

    def _complaint(self, body: bytes) -> str:
        """What the endpoint says is wrong, in one line."""
        text = self._without_key(body)
        try:
            error = json.loads(text)["error"]
            text = error["message"] if isinstance(error, dict) else error
        except (ValueError, LookupError, TypeError, RecursionError):
            pass
        return plain(str(text), 300)

    def _without_key(self, body: bytes) -> str:
        key = self._key.get_secret_value()
        text = body.decode("utf-8", "replace")
        return text.replace(key, "***") if key else text


def _retry_after(headers: Mapping[str, str]) -> timedelta | None:
    """Seconds or a date, as HTTP has it; a day at most."""
    value = headers.get("Retry-After", "").strip()
    try:
        wait = timedelta(seconds=float(value)) if value[:1].isdigit() else parsedate_to_datetime(value) - datetime.now(UTC)
    except (ValueError, TypeError, OverflowError):
        return None
    return min(max(wait, timedelta(0)), _LONGEST_WAIT)
