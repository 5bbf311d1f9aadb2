"""Turns between lists, so that the longest does not drown out the others."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import TypeVar

Thing = TypeVar("Thing")


def interleaved(lists: Sequence[Sequence[Thing]], limit: int, *, key: Callable[[Thing], Hashable]) -> list[Thing]:
    """One of each list, then the next of each, and so on. What has the same key comes once, and costs a list no turn."""
    seen: set[Hashable] = set()

    def fresh(things: Sequence[Thing]) -> Iterator[Thing]:
        for thing in things:
            if key(thing) not in seen:
                seen.add(key(thing))
                yield thing

    turns = [fresh(things) for things in lists]
    picked: list[Thing] = []
    while turns and len(picked) < limit:
        left = []
        for turn in turns:
            thing = next(turn, None)
            if thing is not None:
                left.append(turn)
                picked.append(thing)
        turns = left
    return picked[:limit]
