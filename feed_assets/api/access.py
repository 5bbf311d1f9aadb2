"""How endpoints get at the store and the settings."""

from __future__ import annotations

from typing import Annotated

from fastapi import Depends, Request

from feed_assets.settings import Settings
from feed_assets.store import Store


def _store(request: Request) -> Store:
    store: Store = request.app.state.store
    return store


def _settings(request: Request) -> Settings:
    settings: Settings = request.app.state.settings
    return settings


StoreAccess = Annotated[Store, Depends(_store)]
SettingsAccess = Annotated[Settings, Depends(_settings)]
