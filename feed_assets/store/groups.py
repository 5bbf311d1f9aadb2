"""`headline_groups` and `examined_articles`: articles about one story, and which articles were compared with the others already."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from feed_assets.store.engine import Connection, Row

_CHARACTERS = 3000  # of an article's markup, of which the beginning is compared


@dataclass(frozen=True, slots=True)
class GroupingQueue:
    """What waits to be compared. Another run was here between two looks if `examined_at` or `known` differ."""

    waiting: int
    known: int  # articles of the window, compared or not
    examined_at: datetime | None
    last_run_at: datetime | None


@dataclass(frozen=True, slots=True)
class Group:
    """A row of `headline_groups`."""

    group_id: str
    headline: str
    first_at: datetime
    last_at: datetime
    articles: int
    feeds: int
    sources: int
    founded_at: datetime
    updated_at: datetime


class Groups:
    def __init__(self, connection: Connection) -> None:
        self._db = connection

    def lock(self) -> None:
        """One run at a time writes groups."""
        self._db.run("lock_groups")

    def queue(self, since: datetime) -> GroupingQueue:
        return GroupingQueue(**self._db.rows("grouping_queue", since=since)[0])

    def window(self, since: datetime, *, most: int) -> list[Row]:
        """Articles told since then, with the beginning of their markup."""
        return self._db.rows("grouping_window", since=since, most=most, characters=_CHARACTERS)

    def founded_at(self, group_ids: Iterable[str]) -> dict[str, datetime]:
        return {row["group_id"]: row["founded_at"] for row in self._db.rows("groups_founded", group_ids=sorted(set(group_ids)))}

    def members(self, group_ids: Iterable[str]) -> dict[str, list[str]]:
        """group_id -> its articles, of any age."""
        found: dict[str, list[str]] = defaultdict(list)
        wanted = sorted(set(group_ids))
        for row in self._db.rows("group_members", group_ids=wanted) if wanted else ():
            found[row["group_id"]].append(row["article_id"])
        return {group_id: sorted(article_ids) for group_id, article_ids in found.items()}

    def feeds(self, group_ids: Iterable[str]) -> dict[str, list[str]]:
        """group_id -> the feeds that carried any of its articles."""
        found: dict[str, list[str]] = defaultdict(list)
        for row in self._db.rows("group_carriers", group_ids=sorted(set(group_ids))):
            found[row["group_id"]].append(row["feed_id"])
        return found

    def save(self, founded_at: Mapping[str, datetime], *, now: datetime) -> None:
        """Write these groups as their articles say it now; those that say what they said before stay as they are."""
        rows = ((group_id, at, now) for group_id, at in sorted(founded_at.items()))
        self._db.write("count_groups", ("group_id", "founded_at", "updated_at"), rows)

    def drop(self, group_ids: Iterable[str]) -> None:
        self._db.run("drop_groups", group_ids=sorted(set(group_ids)))

    def examined(self, article_ids: Iterable[str], *, now: datetime) -> None:
        self._db.write("save_examined", ("article_id", "examined_at"), ((article_id, now) for article_id in article_ids))

    def pass_over(self, since: datetime, before: datetime, *, now: datetime) -> None:
        """Take articles of this time as examined: there are too many to compare."""
        self._db.run("save_examined_older", since=since, before=before, now=now)

    def many(self, group_ids: Sequence[str]) -> dict[str, Group]:
        return {row["group_id"]: Group(**row) for row in self._db.rows("groups_by_id", group_ids=list(group_ids))} if group_ids else {}

    def top(self, since: datetime, *, limit: int, after: tuple[int, datetime, str] | None = None) -> list[Group]:
        """Groups that were told of since then: by sources, then the latest; those after this one, when it is given."""
        sources, at, group_id = after or (0, None, "")
        rows = self._db.rows("top_groups", since=since, groups=limit, after_sources=sources, after_at=at, after_id=group_id)
        return [Group(**row) for row in rows]

    def articles(self, group_ids: Sequence[str], *, each: int) -> dict[str, list[Row]]:
        """The latest few articles of each group, without their texts."""
        found: dict[str, list[Row]] = defaultdict(list)
        for row in self._db.rows("articles_of_groups", group_ids=list(group_ids), articles=each) if group_ids else ():
            found[row["group_id"]].append(row)
        return found
