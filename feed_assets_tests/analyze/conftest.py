"""An endpoint on loopback, and an analyzer that asks it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from feed_assets.analyze import Analyzer, load_analyzer
from feed_assets.settings import Settings
from feed_assets_tests.conftest import make_settings
from feed_assets_tests.support.chat_server import ChatServer

KEY = "sk-hunter2-0123456789"
Make = Callable[..., Analyzer]


@pytest.fixture
def chat() -> Iterator[ChatServer]:
    running = ChatServer()
    yield running
    running.close()


@pytest.fixture
def make(chat: ChatServer, tmp_path: Path) -> Make:
    """An analyzer of a test's own; keyword arguments are settings."""

    def build(**values: Any) -> Analyzer:
        analyzer = load_analyzer(openai_settings(tmp_path, chat, **values))
        assert analyzer is not None
        return analyzer

    return build


def openai_settings(home: Path, chat: ChatServer, **values: Any) -> Settings:
    usual = {"ANALYZER": "openai", "OPENAI_BASE_URL": chat.base, "OPENAI_API_KEY": KEY, "OPENAI_MODEL": "tiny"}
    return make_settings(home, **usual | {"ANALYSIS_TIMEOUT_SECONDS": 2} | values)
