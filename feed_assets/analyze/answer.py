"""What an answer has to look like, and what is made of it: plain texts of bounded length, whatever came."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from feed_assets.analyze.analyzer import BadAnswer
from feed_assets.model import Analysis

_LONGEST_SUMMARY = 2000
_LONGEST_FACT = 500
_MOST_FACTS = 20

# As strict endpoints want it: every field required, none besides, no bounds (which not all of them know).
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "score": {"type": "number", "description": "From 0 to 100, as the instructions define it."},
        "summary": {"type": "string", "description": "Plain text."},
        "facts": {"type": "array", "items": {"type": "string"}, "description": "Plain texts."},
    },
    "required": ["score", "summary", "facts"],
    "additionalProperties": False,
}


class Answer(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid")

    score: Annotated[float, Field(ge=0, le=100, allow_inf_nan=False)]
    summary: Annotated[str, Field(min_length=1)]
    facts: list[str]


def read_answer(text: str) -> Answer:
    """The answer in a text, with or without the fence that some models put around JSON; or what is wrong with it."""
    try:
        value = json.loads(_unfenced(text))
    except (ValueError, RecursionError) as error:
        raise BadAnswer(f"the answer is not JSON ({str(error)[:100]})") from None
    try:
        answer = Answer.model_validate(value)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"]))
        raise BadAnswer(f"the answer is not what was asked for: {f'{place}: ' if place else ''}{first['msg']}") from None
    if not plain(answer.summary, _LONGEST_SUMMARY):
        raise BadAnswer("the answer is not what was asked for: summary: it says nothing")
    return answer


def checked(analysis: Analysis) -> Analysis:
    """What any analyzer says, as it can be stored and shown."""
    if not 0 <= analysis.score <= 100:
        raise BadAnswer(f"the score is {analysis.score!r}, and scores are from 0 to 100")
    facts = tuple(fact for each in analysis.facts[:_MOST_FACTS] if (fact := plain(each, _LONGEST_FACT)))
    return replace(analysis, score=float(analysis.score), summary=plain(analysis.summary, _LONGEST_SUMMARY), facts=facts)


def plain(text: str, longest: int) -> str:
    """On one line, without what no database and no terminal takes."""
    line = " ".join("".join(sign if sign.isprintable() else " " for sign in text[: longest * 2]).split())
    return line if len(line) <= longest else f"{line[: longest - 3]}..."


def _unfenced(text: str) -> str:
    text = text.strip()
    if text.startswith("```") and text.endswith("```"):
        return text.removeprefix("```").removeprefix("json").removesuffix("```")
    return text
