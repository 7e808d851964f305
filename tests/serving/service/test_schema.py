"""Whatever the OpenAPI description allows or forbids, the service answers as described."""

from __future__ import annotations

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from hypothesis.strategies import SearchStrategy
from schemathesis import Case, GenerationMode
from schemathesis.specs.openapi.checks import positive_data_acceptance

from mgae.serving import Predictor
from mgae.serving.service.application import create_app

# All checks but one: no schema can say which texts are ids of this graph, so that a request may
# have its form and be refused.
EXCLUDED = [positive_data_acceptance]

# Few, for the sake of the suite; 150 of each found nothing either.
EXAMPLES = 12


@pytest.fixture(scope="module")
def described(predictor: Predictor) -> schemathesis.BaseSchema:
    app = create_app(predictor, hosts=frozenset({"testserver"}))
    return schemathesis.openapi.from_asgi("/openapi.json", app)


@pytest.mark.parametrize("mode", [GenerationMode.POSITIVE, GenerationMode.NEGATIVE])
def test_no_request_breaks_it(described: schemathesis.BaseSchema, mode: GenerationMode) -> None:
    operations = [result.ok() for result in described.get_all_operations()]
    assert len(operations) == 11
    for operation in operations:
        given_parts = (operation.path_parameters, operation.query, operation.body)
        if mode is GenerationMode.NEGATIVE and not any(map(len, given_parts)):
            continue  # there is nothing in it that could be wrong
        _try(operation.as_strategy(generation_mode=mode))


def _try(cases: SearchStrategy[Case]) -> None:
    @given(case=cases)
    @settings(
        max_examples=EXAMPLES,
        deadline=None,
        derandomize=True,
        database=None,
        suppress_health_check=list(HealthCheck),
    )
    def holds(case: Case) -> None:
        case.call_and_validate(excluded_checks=EXCLUDED)

    holds()
