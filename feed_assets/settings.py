"""The only module that reads the environment.

Settings are environment variables with the prefix FEED_ASSETS_, or lines of a `.env` file in the working directory.
While a demo runs, its own settings stand in `demo.env` in HOME, so that every command sees the same; whatever the user sets wins.
A name that is not a setting is an error, so that a typing mistake never goes unnoticed.
"""

from __future__ import annotations

import base64
import difflib
import fcntl
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal, Self
from urllib.parse import quote, urlsplit

from dotenv import dotenv_values
from pydantic import BaseModel, ConfigDict, Field, SecretStr, ValidationError, field_validator, model_validator

from feed_assets import __version__
from feed_assets.errors import SettingsError
from feed_assets.model import EventType
from feed_assets.plugins import OWN_ANALYZERS, analyzer_names
from feed_assets.urls import host_of, mask_password, mask_secrets

PREFIX = "FEED_ASSETS_"
REPOSITORY_URL = "https://github.com/feed-assets/feed_assets"

WEBHOOK_SECRET_PREFIX = "whsec_"  # as the Standard Webhooks have it: base64 follows

# Variables with our prefix that belong to the test suite and the demo, not to the running system.
OTHER_VARIABLES = frozenset({"TEST_POSTGRES_URL"})

# How the names of settings end that nobody else may see.
_SECRETS = ("_token", "_secret", "_key")
_NAMES_IN_TEXT = re.compile(r"\b[A-Z][A-Z_]{3,}\b")

PROFILES: Mapping[str, tuple[float, float]] = {"news": (1, 15), "polite": (15, 24 * 60)}


class Settings(BaseModel):
    """Everything a user can set; the descriptions are what `feed-assets config` and docs/settings.md show."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    home: Path = Field(Path(".feed_assets"), description="Where the embedded database, Dagster's home and logs live.")
    database_url: str = Field(
        "", description="`duckdb:///path/to/file.duckdb` or `postgresql://user:password@host/name`. Default: feeds.duckdb in HOME."
    )
    dagster_database_url: str = Field(
        "", description="A `postgresql://` URL for Dagster's own runs and events; empty keeps them in SQLite files in HOME."
    )
    feeds_file: str = Field(
        "", description="A YAML or OPML file that the feeds follow, at each start and whenever it changes. Empty: there is none."
    )
    feeds_file_prune: bool = Field(False, description="Whether feeds that FEEDS_FILE does not have are deleted.")
    log_level: Literal["DEBUG", "INFO", "WARNING", "ERROR"] = Field("INFO", description="How much is logged.")
    log_format: Literal["console", "json"] = Field("console", description="Log lines for people or for programs.")

    sensor_interval_seconds: int = Field(15, ge=1, le=3600, description="How often the sensor looks for due feeds.")
    batch_size: int = Field(
        200, ge=1, le=10_000, description="Feeds per Dagster run. 1 gives every feed a run of its own, with its partition key."
    )
    max_batches_in_flight: int = Field(2, ge=1, le=1000, description="The sensor claims no more batches than this at a time.")
    fetch_workers: int = Field(20, ge=1, le=500, description="Threads that fetch, per run.")
    lease_seconds: int = Field(600, ge=10, le=86_400, description="A claimed feed becomes due again after this, should its worker die.")

    domain_delay_seconds: float = Field(3, ge=0, le=3600, description="Rest between two requests to one host.")
    retry_after_scope: Literal["feed", "host", "domain"] = Field(
        "host",
        description="Who waits after a 429 or a Retry-After: the feed, its host, or its registrable domain.",
    )
    request_timeout_seconds: float = Field(30, gt=0, le=600, description="Longest wait for a connection or for the next bytes.")
    job_timeout_seconds: float = Field(45, gt=0, le=3600, description="Longest time for one feed, redirects and body included.")
    max_body_mb: float = Field(2, gt=0, le=512, description="Largest body, after decompression.")
    max_redirects: int = Field(10, ge=0, le=50, description="Redirects followed per fetch.")
    allow_private_networks: bool = Field(
        False, description="Whether feeds may live on loopback, private and link-local addresses. For intranets and the demo."
    )
    user_agent: str = Field(f"feed_assets/{__version__} (+{REPOSITORY_URL})", description="How we introduce ourselves to publishers.")

    profile: Literal["news", "polite"] = Field(
        "news", description="`news` polls every 1-15 minutes, `polite` every 15 minutes to 24 hours."
    )
    min_interval_minutes: float = Field(1, ge=1, le=10_080, description="Shortest adaptive interval. Default: the profile's.")
    max_interval_minutes: float = Field(
        15, ge=1, le=10_080, description="Longest adaptive interval; publisher hints and dormancy may go past it. Default: the profile's."
    )
    target_articles_per_fetch: float = Field(
        5, gt=0, le=1000, description="New articles an adaptive poll waits for; lower polls more often."
    )
    hint_max_minutes: float = Field(1440, ge=0, le=10_080, description="A publisher's hint slows us down by no more than this.")
    max_consecutive_errors: int = Field(10, ge=1, le=1000, description="Temporary errors in a row after which a feed is dead.")
    backoff_max_minutes: float = Field(60, ge=1, le=10_080, description="Longest pause between tries of a failing feed.")

    max_articles_per_feed: int = Field(100, ge=1, le=100_000, description="Entries read per fetch, newest first.")
    feed_xml_items: int = Field(50, ge=1, le=1000, description="Items in the XML served for a feed.")
    dedup_retention_days: int = Field(7, ge=0, le=3650, description="Days for which a pruned article is still remembered as seen.")
    raw_retention_days: int = Field(7, ge=0, le=3650, description="Days for which raw responses are kept for replay.")
    article_retention_days: int = Field(365, ge=1, le=36_500, description="Days for which articles are kept.")
    history_retention_days: int = Field(30, ge=1, le=3650, description="Days for which fetch attempts are kept.")
    event_retention_days: int = Field(30, ge=1, le=3650, description="Days for which events (`articles.new`, `feed.dead` ...) are kept.")
    dagster_retention_days: int = Field(30, ge=1, le=3650, description="Days for which finished Dagster runs are kept.")
    dagster_max_runs: int = Field(
        10_000, ge=10, le=10_000_000, description="No more finished Dagster runs than this are kept, however young they are."
    )

    grouping_window_hours: int = Field(48, ge=1, le=336, description="Articles told within so many hours may belong to one story.")
    grouping_threshold_articles: int = Field(
        50, ge=1, le=100_000, description="Stories are looked for when so many articles wait that were not compared with others yet."
    )
    grouping_interval_minutes: float = Field(
        15, ge=1, le=10_080, description="Stories are looked for after so long at the latest, if any article waits."
    )

    analyzer: str = Field(
        "none", description="What analyses articles: `none`, `mock`, `openai`, or the name that an installed package gives its analyzer."
    )
    analysis_prompt: str = Field("noise", description="What an analyzer is to judge by: `noise`, `relevance`, or the path of a text file.")
    analysis_days: int = Field(7, ge=1, le=36_500, description="Only articles that were first seen so few days ago are analysed.")
    analysis_daily_budget: int = Field(
        1000, ge=0, le=100_000_000, description="Requests to the analyzer per UTC day, of all workers together; 0: any number."
    )
    analysis_concurrency: int = Field(4, ge=1, le=200, description="Requests to the analyzer at a time, per run.")
    analysis_timeout_seconds: float = Field(60, gt=0, le=3600, description="Longest time for one answer of the analyzer.")
    analysis_retries: int = Field(3, ge=0, le=20, description="How often an article is tried again after a temporary error.")
    analysis_fetch_pages: bool = Field(False, description="Whether an article's own page is fetched for its analysis.")
    analysis_in_xml: bool = Field(False, description="Whether analyses are in the served XML.")
    openai_base_url: str = Field(
        "https://api.openai.com/v1", description="An endpoint that speaks OpenAI's chat completions, without /chat/completions."
    )
    openai_api_key: SecretStr = Field(SecretStr(""), description="The key for it; empty for an endpoint that wants none.")
    openai_model: str = Field("", description="The model that is asked.")
    api_host: str = Field("127.0.0.1", description="Address the HTTP API listens on.")
    api_port: int = Field(8080, ge=0, le=65_535, description="Port the HTTP API listens on.")
    api_token: str = Field("", description="Lets its bearer ask for a refresh with POST /api/feeds/ID/refresh; empty: nobody can.")
    api_rate_limit: int = Field(
        0, ge=0, le=1_000_000, description="Requests per minute and client that the HTTP API answers; 0: any number."
    )
    api_memory_mb: int = Field(
        256, ge=32, le=65_536, description="Memory for finished documents, and as much for the copy of a DuckDB file."
    )
    api_articles: int = Field(
        100_000, ge=100, le=10_000_000, description="The newest articles, as many of a DuckDB file as the HTTP API knows."
    )
    health_max_stuck: int = Field(10, ge=1, description="/health fails when so many leases have run out without anybody taking over.")
    health_sensor_seconds: int = Field(180, ge=10, description="/health fails when the sensor has not looked for due feeds for so long.")
    health_max_lag_seconds: int = Field(1800, ge=10, description="/health fails when a feed has been due for so long.")
    metrics_feeds: int = Field(100, ge=0, le=100_000, description="Feeds that have metrics of their own in /metrics, the busiest ones.")
    webhook_urls: str = Field("", description="Where events are sent, as signed POST requests; several URLs with commas between them.")
    alert_urls: str = Field("", description="The same for those who only want to hear when feeds fail, die and recover.")
    webhook_secret: str = Field("", description="The key that webhooks are signed with, for instance `whsec_` and base64; empty: unsigned.")
    webhook_events: str = Field("", description="Event types for WEBHOOK_URLS, with commas between them. Default: all of docs/events.md.")
    dagster_events: bool = Field(False, description="Whether Dagster is told of events without webhooks, too: asset `feed_events`.")
    webhook_timeout_seconds: float = Field(10, gt=0, le=60, description="Longest time for one webhook request.")
    webhook_max_attempts: int = Field(15, ge=1, le=100, description="Tries per event and receiver; 15 take about a day.")
    alert_after_errors: int = Field(3, ge=1, le=1000, description="Errors in a row after which `feed.failing` is told, once.")
    dagster_url: str = Field("http://127.0.0.1:3000", description="Where the Dagster UI is; used in links.")
    public_url: str = Field("", description="How others reach the HTTP API; used in links. Default: http://API_HOST:API_PORT.")

    @field_validator("log_level", mode="before")
    @classmethod
    def _upper(cls, value: Any) -> Any:
        return value.upper() if isinstance(value, str) else value

    @field_validator("analyzer")
    @classmethod
    def _is_there(cls, value: str) -> str:
        if value not in OWN_ANALYZERS and value not in (names := analyzer_names()):
            raise ValueError(f"there is no such analyzer; there are {', '.join(names)}")
        return value

    @field_validator("openai_base_url")
    @classmethod
    def _leads_somewhere(cls, value: str) -> str:
        if not value.startswith(("https://", "http://")):
            raise ValueError("must start with https:// or http://")
        return value

    @field_validator("openai_api_key")
    @classmethod
    def _fits_into_a_header(cls, value: SecretStr) -> SecretStr:
        if not all("!" <= sign <= "~" for sign in value.get_secret_value()):
            raise ValueError("has signs that no key has, such as spaces or line ends")
        return value

    @field_validator("user_agent")
    @classmethod
    def _one_line(cls, value: str) -> str:
        if not value.strip() or not value.isprintable() or not value.isascii():
            raise ValueError("must be one line of plain ASCII")
        return value.strip()

    @model_validator(mode="before")
    @classmethod
    def _profile_sets_the_clamp(cls, values: dict[str, Any]) -> dict[str, Any]:
        """What is set wins; the end that is not set comes from the profile, and gives way if it must."""
        shortest, longest = PROFILES.get(str(values.get("profile", "news")), PROFILES["news"])
        lower, upper = _number(values.get("min_interval_minutes")), _number(values.get("max_interval_minutes"))
        values.setdefault("min_interval_minutes", shortest if upper is None else min(shortest, upper))
        values.setdefault("max_interval_minutes", longest if lower is None else max(longest, lower))
        return values

    @model_validator(mode="after")
    def _make_sense_together(self) -> Self:
        if self.min_interval_minutes > self.max_interval_minutes:
            raise ValueError("MIN_INTERVAL_MINUTES is larger than MAX_INTERVAL_MINUTES")
        scheme = urlsplit(self.store_url).scheme
        if scheme not in ("duckdb", "postgresql", "postgres"):
            raise ValueError("DATABASE_URL must start with duckdb:/// or postgresql://")
        if self.api_token and len(self.api_token) < 16:
            raise ValueError("API_TOKEN is too short to be a secret: 16 characters at least")
        if self.webhook_secret and len(self.webhook_secret) < 16:
            raise ValueError("WEBHOOK_SECRET is too short to be a secret: 16 characters at least")
        if self.webhook_secret and not self.webhook_key:
            raise ValueError("WEBHOOK_SECRET begins with whsec_, but what follows is not base64")
        for name in ("webhook_urls", "alert_urls"):
            for url in listed(getattr(self, name)):
                if urlsplit(url).scheme not in ("http", "https") or not host_of(url):
                    raise ValueError(f"{name.upper()}: {mask_secrets(url)!r} is not a URL that starts with http:// or https://")
        for name in listed(self.webhook_events):
            if name not in list(EventType):
                raise ValueError(f"WEBHOOK_EVENTS: there is no event {name!r}; docs/events.md lists them all")
        if self.dagster_database_url and urlsplit(self.dagster_database_url).scheme not in ("postgresql", "postgres"):
            raise ValueError("DAGSTER_DATABASE_URL must start with postgresql://")
        return self

    @property
    def store_url(self) -> str:
        return self.database_url or f"duckdb:///{quote(str(self.home.absolute() / 'feeds.duckdb'))}"

    @property
    def site_url(self) -> str:
        return self.public_url.rstrip("/") or f"http://{self.api_host}:{self.api_port}"

    @property
    def webhook_key(self) -> bytes:
        """What webhooks are signed with; empty when they are not."""
        if not self.webhook_secret.startswith(WEBHOOK_SECRET_PREFIX):
            return self.webhook_secret.encode()
        try:
            return base64.b64decode(self.webhook_secret.removeprefix(WEBHOOK_SECRET_PREFIX), validate=True)
        except ValueError:
            return b""

    @property
    def max_body_bytes(self) -> int:
        return int(self.max_body_mb * 1024 * 1024)


def load_settings(environ: Mapping[str, str] | None = None, dotenv: Path | None = Path(".env")) -> Settings:
    """Read the settings, or say in one line what is wrong with them."""
    values, _ = _collect(os.environ if environ is None else environ, dotenv)
    try:
        return Settings.model_validate(values)
    except ValidationError as error:
        first = error.errors()[0]
        name = f"{PREFIX}{str(first['loc'][0]).upper()}: " if first["loc"] else PREFIX
        raise SettingsError(f"{name}{_plain(first)}") from None


@dataclass(frozen=True, slots=True)
class Salvaged:
    """Settings that can be used in spite of what is wrong: a setting that cannot be used is as if it were not set."""

    settings: Settings
    trouble: Mapping[str, str]  # variable -> what is wrong with it
    sources: Mapping[str, str]  # of those that are set: where from


def salvage_settings(environ: Mapping[str, str] | None = None, dotenv: Path | None = Path(".env")) -> Salvaged:
    """As `load_settings`, for whoever wants to know everything that is wrong and go on all the same."""
    trouble: dict[str, str] = {}
    values, sources = _collect(os.environ if environ is None else environ, dotenv, trouble)
    while True:
        try:
            return Salvaged(Settings.model_validate(dict(values)), trouble, sources)
        except ValidationError as error:
            for each in error.errors():
                named = {str(each["loc"][0])} if each["loc"] else {name.lower() for name in _NAMES_IN_TEXT.findall(str(each["msg"]))}
                bad = (named & values.keys()) or set(values)  # that a mistake names no setting must not keep us here for ever
                trouble |= {f"{PREFIX}{name.upper()}": _plain(each) for name in sorted(bad)}
                values = {name: value for name, value in values.items() if name not in bad}


def describe_settings(environ: Mapping[str, str] | None = None, dotenv: Path | None = Path(".env")) -> list[dict[str, Any]]:
    """Every setting with its value in force, where that came from, and what it does. Secrets are masked."""
    settings = load_settings(environ, dotenv)
    _, sources = _collect(os.environ if environ is None else environ, dotenv)
    rows = []
    for name, field in Settings.model_fields.items():
        value = settings.store_url if name == "database_url" else getattr(settings, name)
        source = sources.get(name, "default")
        if name in ("min_interval_minutes", "max_interval_minutes") and source == "default":
            source = f"profile {settings.profile}"
        value = value.get_secret_value() if isinstance(value, SecretStr) else value
        if isinstance(value, str):
            value = _masked(name, value)
        value = str(value) if isinstance(value, Path) else value
        rows.append({"setting": name.upper(), "value": value, "source": source, "description": field.description})
    return rows


@lru_cache(maxsize=1)
def settings() -> Settings:
    """The settings of this process, read once."""
    return load_settings()


def listed(text: str) -> list[str]:
    """What stands between the commas of a setting."""
    return [each.strip() for each in text.split(",") if each.strip()]


def _masked(name: str, value: str) -> str:
    """The value as others may see it; the name of a setting tells what kind of secret it holds."""
    if name.endswith(_SECRETS):
        return "***" if value else ""
    if name.endswith("_urls"):
        return ", ".join(map(mask_secrets, listed(value)))
    return mask_password(value) if name.endswith("_url") else value


def demo_file(home: Path) -> Path:
    """Where a running demo keeps its settings."""
    return home / "demo.env"


def up_lock(home: Path) -> Path:
    """The file that `feed-assets up` holds locked while it runs."""
    return home / "up.lock"


def is_up(home: Path) -> bool:
    """Whether `feed-assets up` runs there."""
    try:
        with up_lock(home).open() as lock:
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    return False


def _collect(
    environ: Mapping[str, str], dotenv: Path | None, trouble: dict[str, str] | None = None
) -> tuple[dict[str, Any], dict[str, str]]:
    """Settings by field name, and where each came from: the environment wins over `.env`, and that over a running demo.

    What is wrong is raised, or noted in `trouble` by the name of the variable or file.
    """
    values: dict[str, Any] = {}
    sources: dict[str, str] = {}

    def complain(name: str, reason: str) -> None:
        if trouble is None:
            raise SettingsError(reason)
        trouble[name] = reason

    def take(source: str, variables: Mapping[str, str | None]) -> None:
        for variable, value in variables.items():
            name = variable.removeprefix(PREFIX)
            if not variable.startswith(PREFIX) or name in OTHER_VARIABLES:
                continue
            if name.lower() not in Settings.model_fields or name != name.upper():
                complain(variable, f"unknown setting {variable} (from {source}); {_did_you_mean(name)}")
                continue
            if value and value.strip():  # set but empty: as if it were not set
                values.setdefault(name.lower(), value.strip())
                sources.setdefault(name.lower(), source)

    take("environment", environ)
    if dotenv is not None:
        try:
            take(str(dotenv), _variables(dotenv))
        except (OSError, UnicodeDecodeError) as error:
            complain(str(dotenv), f"cannot read {dotenv}: {error}")
    home = Path(values.get("home", Settings.model_fields["home"].default))
    if demo_file(home).is_file() and is_up(home):
        take("running demo", _variables(demo_file(home)))
    return values, sources


def _number(value: Any) -> float | None:
    try:
        return float(value)
    except (TypeError, ValueError):
        return None


def _variables(path: Path) -> Mapping[str, str | None]:
    return dotenv_values(path) if path.is_file() else {}


def _did_you_mean(name: str) -> str:
    close = difflib.get_close_matches(name.upper(), [field.upper() for field in Settings.model_fields], n=1)
    return f"did you mean {PREFIX}{close[0]}?" if close else "docs/reference/settings.md lists them all"


def _plain(error: Any) -> str:
    message = str(error["msg"]).removeprefix("Value error, ")
    given = error.get("input")
    secret = error["loc"] and str(error["loc"][0]).endswith(_SECRETS)
    return f"{message} (it is {given!r})" if isinstance(given, str | int | float) and not secret else message
