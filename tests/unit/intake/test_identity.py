"""Who a row is does not depend on how its file was written."""

import hashlib
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.intake.identity import Origin, canonical_json, content_sha256, identify
from app.intake.refusal import RowRefused
from app.intake.rows import Reading, Row, read_row

VALUES = st.recursive(
    st.none() | st.integers() | st.text(),
    lambda inner: st.dictionaries(st.text(), inner) | st.lists(inner),
    max_leaves=12,
)


def _reversed(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _reversed(value[key]) for key in reversed(value)}
    return [_reversed(member) for member in value] if isinstance(value, list) else value


@given(st.dictionaries(st.text(), VALUES))
def test_the_hash_does_not_see_the_order_of_keys(value: dict[str, Any]) -> None:
    assert canonical_json(value) == canonical_json(_reversed(value))
    assert json.loads(canonical_json(value)) == value


@given(st.text(), st.text())
def test_texts_are_hashed_by_their_canonical_form(role: str, content: str) -> None:
    messages: list[Any] = [{"role": role, "content": content, "\uffff": "", "\U00010000": ""}]
    canonical = canonical_json({"tools": None, "messages": messages})
    assert content_sha256(messages, None) == hashlib.sha256(canonical).hexdigest()


def test_the_canonical_form_is_sorted_dense_and_raw() -> None:
    assert canonical_json({"b": "é\u2028", "a": None}) == '{"a":null,"b":"é\u2028"}'.encode()
    assert content_sha256(["\ud83d"], None) == hashlib.sha256(b'{"messages":["\\ud83d"],"tools":null}').hexdigest()
    assert canonical_json("\ud83d") == b'"\\ud83d"'


def test_a_row_without_an_id_is_named_by_its_content() -> None:
    text = b'{"messages":[{"content":"Hi","role":"user"}],"tools":null}'
    row = read_row(1, b'{"prompt": "Hi"}', Reading())
    assert isinstance(row, Row)
    assert row.identity.content_sha256 == hashlib.sha256(text).hexdigest()
    assert row.identity.base_id == hashlib.sha256(text).hexdigest()[:16]
    assert row.identity.origin is Origin.CONTENT


def test_the_first_filled_id_field_wins_and_zero_is_an_id() -> None:
    assert identify({"uuid": "u", "id": ""}, [], None).base_id == "u"
    assert identify({"question_id": 0}, [], None).base_id == "0"
    assert identify({"id": 2**70}, [], None).base_id == str(2**70)
    assert identify({"prompt_id": "p"}, [], None).origin is Origin.PROMPT


def test_a_told_id_field_is_the_only_one() -> None:
    assert identify({"id": "i", "key": "k"}, [], None, "key").base_id == "k"
    with pytest.raises(RowRefused, match="no_id"):
        identify({"id": "i"}, [], None, "key")


def test_tools_are_part_of_the_content() -> None:
    assert content_sha256([], None) != content_sha256([], [{"type": "function", "function": {"name": "f"}}])
