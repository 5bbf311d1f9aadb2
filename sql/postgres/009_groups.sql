-- Articles about one story, of several publishers; `deduped_articles.group_id` says which belong to a group.
CREATE TABLE headline_groups (
    group_id TEXT PRIMARY KEY,
    headline TEXT NOT NULL,
    first_at TIMESTAMPTZ NOT NULL,
    last_at TIMESTAMPTZ NOT NULL,
    articles BIGINT NOT NULL,
    feeds BIGINT NOT NULL,
    sources BIGINT NOT NULL,
    founded_at TIMESTAMPTZ NOT NULL,
    updated_at TIMESTAMPTZ NOT NULL
);

-- Articles of the last days that a run has looked at: found alone, they wait for others, and are not looked at as new again.
CREATE TABLE examined_articles (
    article_id TEXT PRIMARY KEY,
    examined_at TIMESTAMPTZ NOT NULL
);

CREATE INDEX deduped_articles_by_group ON deduped_articles (group_id) WHERE group_id IS NOT NULL;
CREATE INDEX headline_groups_by_time ON headline_groups (last_at);
