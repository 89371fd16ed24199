"""What hints that text was lost on its way, and that it changes nothing else."""

import json

import pytest

from app.capture import Asked, Form, read_body
from tests.unit.capture.loss_cases import LOSS_CASES, LossCase


@pytest.mark.parametrize("loss", [pytest.param(case, id=case.name) for case in LOSS_CASES])
def test_an_answer_hints_at_a_loss_as_its_case_says(loss: LossCase) -> None:
    reading = read_body(200, loss.body(), Asked(thinking=loss.thinking))
    assert reading.loss_flags == loss.flags
    assert not reading.loss_flags & reading.flags


def test_a_body_that_is_no_answer_hints_at_nothing() -> None:
    body = json.dumps({"choices": [{"message": {"content": "\n\na"}}], "usage": {"completion_tokens": 500}}).encode()
    assert read_body(200, body, Asked()).loss_flags == frozenset()
    assert read_body(500, LOSS_CASES[2].body(), Asked()).loss_flags == frozenset()


def test_a_row_of_an_old_run_is_measured_like_a_body() -> None:
    row = {"content": "\n\nunderstood", "finish_reason": "stop", "usage": {"completion_tokens": 400}}
    asked = Asked(thinking=None, form=Form.RAW_RESPONSES)
    assert read_body(None, json.dumps(row).encode(), asked).loss_flags == {"text_short_for_tokens", "cut_upstream"}
