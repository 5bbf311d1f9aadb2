"""`feed-assets events ...`: what happened, who has heard of it, and what is stuck."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import typer

from feed_assets.cli.context import opened
from feed_assets.cli.output import print_json, print_table, say
from feed_assets.delivery import backlog, deliver, send_test
from feed_assets.errors import FeedAssetsError, UsageError
from feed_assets.model import EventType
from feed_assets.refresh import utc_now
from feed_assets.settings import Settings, settings
from feed_assets.webhooks import Receiver, listeners, receivers
from feed_assets.words import relative

app = typer.Typer(no_args_is_help=True, help="What happened, and the webhooks that are told of it.")

AsJson = Annotated[bool, typer.Option("--json", help="For programs.")]
_PATIENCE = 3600.0  # seconds; whoever calls wants all of it delivered
_BUSY = "left alone for now, or another process delivers to it"
_SHOWN = ("receiver", "status", "attempts", "next_attempt_at", "last_error", "delivered_at")


@app.command("list", epilog="Example: feed-assets events list --dead")
def list_events(
    dead: Annotated[bool, typer.Option("--dead", help="Those that were given up for a receiver.")] = False,
    pending: Annotated[bool, typer.Option("--pending", help="Those that a receiver is still to hear of.")] = False,
    kind: Annotated[str | None, typer.Option("--type", help="Of this type, such as feed.dead.", show_default=False)] = None,
    limit: Annotated[int, typer.Option(min=1, help="The newest, so many.")] = 50,
    as_json: AsJson = False,
) -> None:
    """What happened, the newest first, and who has heard of it."""
    if dead and pending:
        raise UsageError("say either --dead or --pending")
    if kind is not None and kind not in list(EventType):
        raise UsageError(f"there is no event {kind!r}; there are {', '.join(EventType)}")
    current, store = opened()
    if listeners(current):
        backlog(store, current, now=utc_now())  # lines up what has happened since the last delivery
    with store.read() as tx:
        events = tx.deliveries.events(status="dead" if dead else "pending" if pending else None, event_type=kind, limit=limit)
        sent: dict[str, list[Mapping[str, Any]]] = defaultdict(list)
        for row in tx.deliveries.of_events([event["event_id"] for event in events]):
            sent[row["event_id"]].append({name: row[name] for name in _SHOWN})
    if as_json:
        print_json([event | {"deliveries": sent[event["event_id"]]} for event in events])
    elif events:
        columns = ("when", "type", "feed", "delivered", "event id")
        print_table(columns, (_row(event, sent[event["event_id"]]) for event in events))
    else:
        say("no events")


@app.command("retry", epilog="Example: feed-assets events retry --all")
def retry(
    event_id: Annotated[str | None, typer.Argument(help="An event that was given up.", show_default=False)] = None,
    every: Annotated[bool, typer.Option("--all", help="All that were given up.")] = False,
) -> None:
    """Try again what was given up, and receivers that are left alone, at the next delivery."""
    if (event_id is not None) == every:
        raise UsageError("say either --all or which event; `feed-assets events list --dead` shows them")
    _, store = opened()
    with store.begin() as tx:
        revived = tx.deliveries.retry(None if event_id is None else [event_id], now=utc_now())
    if event_id is not None and not revived:
        raise FeedAssetsError(f"no delivery of {event_id!r} was given up; `feed-assets events list --dead` shows the ones that were")
    say(f"to be tried again: {len(revived)}")


@app.command("deliver", epilog="Example: feed-assets events deliver")
def deliver_now(as_json: AsJson = False) -> None:
    """Tell the webhooks what is due now, in this process."""
    current, store = opened()
    told = deliver(store, current, _receivers(current), clock=utc_now, seconds=_PATIENCE)
    rows = [
        {
            "receiver": each.receiver.name,
            "delivered": each.count,
            "failed": each.failed,
            "dead": each.dead,
            "last_error": _BUSY if each.busy else each.trouble,
        }
        for each in told
    ]
    if as_json:
        print_json(rows)
    else:
        print_table(
            [name.replace("_", " ") for name in rows[0]], ([str(v if v is not None else "-") for v in row.values()] for row in rows)
        )
    if failed := [row for row in rows if row["failed"] or row["dead"]]:
        raise FeedAssetsError("; ".join(f"{row['receiver']}: {row['last_error']}" for row in failed))


@app.command("test", epilog="Example: feed-assets events test")
def test(as_json: AsJson = False) -> None:
    """Send a test event to each webhook, and show how that went."""
    current = settings()
    known = _receivers(current)
    answers = send_test(current, known, now=utc_now())
    rows = [
        {
            "receiver": receiver.name,
            "url": receiver.shown,
            "delivered": answer.delivered,
            "status_code": answer.status_code,
            "duration_ms": round(answer.seconds * 1000),
            "error_message": answer.reason,
        }
        for receiver, answer in zip(known, answers, strict=True)
    ]
    if as_json:
        print_json(rows)
    else:
        words = (
            (str(r["receiver"]), str(r["status_code"] or "-"), f"{r['duration_ms']} ms", str(r["error_message"] or "ok")) for r in rows
        )
        print_table(("receiver", "status", "took", "result"), words)
    if failed := [row for row in rows if not row["delivered"]]:
        raise FeedAssetsError("; ".join(f"{row['receiver']}: {row['error_message']}" for row in failed))


def _receivers(current: Settings) -> list[Receiver]:
    found = receivers(current)
    if not found:
        raise FeedAssetsError("there are no webhooks; FEED_ASSETS_WEBHOOK_URLS or FEED_ASSETS_ALERT_URLS names them")
    return found


def _row(event: Mapping[str, Any], sent: Sequence[Mapping[str, Any]]) -> list[str]:
    return [
        relative(event["created_at"]),
        event["event_type"],
        str(event["payload"].get("feed_id", "-")),
        "; ".join(map(_how, sent)) or "-",
        event["event_id"],
    ]


def _how(delivery: Mapping[str, Any]) -> str:
    """One receiver's part of it, in a few words."""
    if delivery["status"] == "delivered":
        return f"{delivery['receiver']} {relative(delivery['delivered_at'])}"
    count = delivery["attempts"]
    tries = f"{count} {'try' if count == 1 else 'tries'}: {delivery['last_error']}" if count else "not tried yet"
    when = f", again {relative(delivery['next_attempt_at'])}" if delivery["status"] == "pending" and delivery["attempts"] else ""
    return f"{delivery['receiver']} {delivery['status']} ({tries}{when})"
