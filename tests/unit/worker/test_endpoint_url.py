"""What `--endpoint` takes."""

import pytest

from app.model.errors import UsageError
from worker.endpoint import normal_url


@pytest.mark.parametrize(
    ("url", "base_url", "root"),
    [
        ("http://host:30000", "http://host:30000/v1", "http://host:30000"),
        ("http://host:30000/", "http://host:30000/v1", "http://host:30000"),
        ("http://host:30000/v1", "http://host:30000/v1", "http://host:30000"),
        ("http://host:30000/v1/", "http://host:30000/v1", "http://host:30000"),
        ("host:30000", "http://host:30000/v1", "http://host:30000"),
        ("https://host/api/v1", "https://host/api/v1", "https://host/api"),
        ("https://host/other", "https://host/other", "https://host/other"),
        ("http://[::1]:8000", "http://[::1]:8000/v1", "http://[::1]:8000"),
    ],
)
def test_a_url_is_brought_to_one_form(url: str, base_url: str, root: str) -> None:
    assert normal_url(url) == (base_url, root)
    assert normal_url(base_url) == (base_url, root)


@pytest.mark.parametrize(
    "url", ["", "http://", "ftp://host", "unix:///socket", "http://:8000", "/v1", "foo", "host/v1"]
)
def test_what_is_no_http_url_is_a_usage_error(url: str) -> None:
    with pytest.raises(UsageError, match="expected http://HOST:PORT"):
        normal_url(url)


@pytest.mark.parametrize(
    "url",
    [
        "http://me@host", "http://me:hush@host", "http://:hush@host", "http://host?key=hush", "http://host/v1#hush",
    ],
)  # fmt: skip
def test_a_secret_in_a_url_is_refused_and_not_repeated(url: str) -> None:
    with pytest.raises(UsageError) as refusal:
        normal_url(url)
    assert "hush" not in str(refusal.value)
    assert "--api-key-env" in str(refusal.value)
