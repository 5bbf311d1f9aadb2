"""How endpoints get at the store, the settings and what is kept in memory."""

from __future__ import annotations

from typing import Annotated

from fastapi import Depends, Request

from feed_assets.api.shelf import Shelf
from feed_assets.api.watch import Watcher
from feed_assets.settings import Settings
from feed_assets.store import Store


def _store(request: Request) -> Store:
    store: Store = request.app.state.store
    return store


def _settings(request: Request) -> Settings:
    settings: Settings = request.app.state.settings
    return settings


def _shelf(request: Request) -> Shelf:
    shelf: Shelf = request.app.state.shelf
    return shelf


def _watcher(request: Request) -> Watcher:
    watcher: Watcher = request.app.state.watcher
    return watcher


StoreAccess = Annotated[Store, Depends(_store)]
SettingsAccess = Annotated[Settings, Depends(_settings)]
ShelfAccess = Annotated[Shelf, Depends(_shelf)]
WatcherAccess = Annotated[Watcher, Depends(_watcher)]
