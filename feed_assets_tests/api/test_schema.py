"""Whatever is asked, within the description or without: no answer is an error of ours, and each looks as the description says."""

from __future__ import annotations

from contextlib import suppress

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from hypothesis.errors import Unsatisfiable
from schemathesis import Case, GenerationMode

from feed_assets_tests.api.conftest import Served

FEW = settings(max_examples=25, deadline=None, database=None, derandomize=True, suppress_health_check=list(HealthCheck))


@pytest.mark.parametrize("mode", [GenerationMode.POSITIVE, GenerationMode.NEGATIVE])
def test_every_endpoint_answers_as_it_is_described_whatever_is_asked(served: Served, mode: GenerationMode) -> None:
    schema = schemathesis.openapi.from_asgi("/openapi.json", served.client.app)
    asked: set[str] = set()
    for found in schema.get_all_operations():
        operation = found.ok()

        @FEW
        @given(case=operation.as_strategy(generation_mode=mode))
        def check(case: Case) -> None:
            case.call_and_validate()
            asked.add(case.operation.label)

        with suppress(Unsatisfiable):  # where any text will do there is nothing wrong to be asked
            check()
    assert len(asked) >= (14 if mode is GenerationMode.POSITIVE else 3), asked
