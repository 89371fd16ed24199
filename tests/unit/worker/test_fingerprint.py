"""What is kept of a server's own words: named fields, and never a secret."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from worker.fingerprint import KEPT, Model, dialect_of, fingerprint_of, models_of

SECRET = "sk-never-keep-this"  # noqa: S105 - nobody's
SERVER_INFO = {
    "version": "0.5.23", "served_model_name": "kimi", "reasoning_parser": "kimi_k2", "tp_size": 8,
    "api_key": SECRET, "admin_api_key": SECRET, "launch_command": f"python -m sglang --api-key {SECRET}",
    "env": {"OPENAI_API_KEY": SECRET}, "ssl_keyfile_password": SECRET, "internal_states": [{"api_key": SECRET}],
}  # fmt: skip
MODEL = Model("kimi", "sglang", 262_144)


def test_secrets_are_never_kept() -> None:
    kept = fingerprint_of(SERVER_INFO, MODEL)
    assert SECRET not in json.dumps(kept)
    assert kept["reasoning_parser"] == "kimi_k2"
    assert (kept["owned_by"], kept["max_model_len"]) == ("sglang", 262_144)


def test_no_field_that_is_kept_is_named_like_a_secret() -> None:
    assert not [
        name for name in KEPT if any(word in name for word in ("key", "token", "password", "secret", "command"))
    ]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5) | st.just(SECRET),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
OTHER_NAMES = st.text(max_size=20).filter(lambda name: name not in KEPT)


@settings(max_examples=150, deadline=None)
@given(st.dictionaries(OTHER_NAMES, JSON) | JSON.filter(lambda value: not isinstance(value, dict)))
def test_what_is_not_named_is_not_kept_whatever_a_server_says(info: Any) -> None:
    assert fingerprint_of(info, MODEL) == {"owned_by": "sglang", "max_model_len": 262_144}


@settings(max_examples=100, deadline=None)
@given(st.dictionaries(st.sampled_from(KEPT), JSON))
def test_only_plain_values_are_kept(info: dict[str, Any]) -> None:
    kept = fingerprint_of(info, MODEL)
    assert all(isinstance(value, str | int | bool | None) for value in kept.values())


@pytest.mark.parametrize("listing", [None, [], {}, {"data": None}, {"data": [1, {"id": 2}, {}]}, "models", 7])
def test_a_listing_of_another_shape_has_no_models(listing: Any) -> None:
    assert models_of(listing) == []


def test_models_are_read_with_what_is_said_of_them() -> None:
    listing = {"data": [{"id": "a", "owned_by": "vllm", "max_model_len": 9}, {"id": "b", "owned_by": 3}]}
    assert models_of(listing) == [Model("a", "vllm", 9), Model("b", None, None)]


@pytest.mark.parametrize(
    ("info", "owner", "name", "raw_text", "token_ids"),
    [
        (None, "sglang", "sglang", True, True),
        ({"reasoning_parser": None}, None, "sglang", True, True),
        (None, "vllm", "vllm", False, True),
        (None, "llamacpp", "other", False, False),
        ("nonsense", None, "other", False, False),
    ],
)
def test_a_server_is_asked_by_what_it_is(
    info: Any, owner: str | None, name: str, raw_text: bool, token_ids: bool
) -> None:
    found = dialect_of(info, Model("m", owner, None), raw_text=None, token_ids=True)
    assert (found.name, found.raw_text, found.token_ids) == (name, raw_text, token_ids)
    for wish in (True, False):
        assert dialect_of(info, Model("m", owner, None), raw_text=wish, token_ids=False).raw_text is wish
