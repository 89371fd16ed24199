"""A chat template is rendered as transformers renders one, and what it cannot do is said."""

import json
from pathlib import Path
from typing import Any

import pytest

from app.export.template import Refusal, Template, read_template, refuse_template, render
from app.model.errors import NotFound, UsageError

MESSAGES = [{"role": "user", "content": "a < b & 'c'"}]
START_MS = 1_770_000_000_000  # 2026-02-02 02:40 UTC


def rendered(text: str, tools: Any = None, asked: dict[str, Any] | None = None, **variables: str) -> str:
    template = Template("t.jinja", text, "", json.dumps(variables))
    return render(template, MESSAGES, tools, asked or {}, START_MS)


def test_blocks_take_their_line_with_them_and_nothing_is_escaped() -> None:
    text = "{% for m in messages %}\n  {% if m.role == 'user' %}\n<u>{{ m.content }}\n  {% endif %}\n{% endfor %}\n"
    assert rendered(text) == "<u>a < b & 'c'\n"


def test_tojson_keeps_keys_in_order_and_characters_as_they_are() -> None:
    tools = [{"z": "<é>", "a": {"y": 1, "b": None}}]
    assert rendered("{{ tools | tojson }}", tools) == '[{"z": "<é>", "a": {"y": 1, "b": null}}]'
    assert rendered("{{ tools | tojson(indent=1) }}", [1]) == "[\n 1\n]"
    assert rendered("{{ tools | tojson(separators=(',', ':'), sort_keys=true) }}", tools).startswith('[{"a":')


def test_it_ends_where_the_model_begins_and_knows_what_the_request_said() -> None:
    off = "{% if thinking is defined and not thinking %}off{% else %}on{% endif %}"
    text = "{% if add_generation_prompt %}" + off + "{% endif %}"
    assert rendered(text) == "on"
    assert rendered(text, asked={"thinking": False}) == "off"


def test_loops_can_be_left_and_generation_marks_are_only_marks() -> None:
    text = "{% for n in range(9) %}{% if n == 2 %}{% break %}{% endif %}{{ n }}{% endfor %}"
    assert rendered(text) == "01"
    assert rendered("a{% generation %}{{ messages[0].role }}{% endgeneration %}b") == "auserb"


def test_the_time_is_that_of_the_request() -> None:
    assert rendered("{{ strftime_now('%d %b %Y') }}") == "02 Feb 2026"


def test_tools_and_documents_are_none_where_there_are_none() -> None:
    assert rendered("{{ tools is none }}{{ documents is none }}{{ nobody is defined }}") == "TrueTrueFalse"


def test_what_the_template_refuses_is_a_refusal() -> None:
    with pytest.raises(Refusal, match="alternate"):
        rendered("{{ raise_exception('roles must alternate') }}")


@pytest.mark.parametrize("text", ["{{ nobody.at.home }}", "{{ ''.__class__.__mro__ }}", "{{ messages.append(1) }}",
                                  "{{ 1 + 'a' }}", "{{ messages[9].x }}"])  # fmt: skip
def test_what_fails_in_a_template_is_said_and_the_sandbox_holds(text: str) -> None:
    with pytest.raises(UsageError, match=r"t\.jinja fails"):
        rendered(text)


def test_a_token_that_nobody_told_is_refused_before_it_writes_nothing() -> None:
    with pytest.raises(UsageError, match=r"""--template-vars '{"bos_token": "..."}'"""):
        refuse_template(Template("t", "{{ bos_token }}{{ messages }}", ""))
    refuse_template(Template("t", "{{ bos_token }}", "", '{"bos_token": "<s>"}'))
    refuse_template(Template("t", "{% set eos_token = 'x' %}{{ eos_token }}{{ thinking }}", ""))


def test_a_file_that_is_no_template_is_said_with_its_line(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="no template"):
        read_template(tmp_path / "none", "")
    broken = tmp_path / "broken.jinja"
    broken.write_text("a\n{% for %}")
    with pytest.raises(UsageError, match=r"broken\.jinja line 2"):
        refuse_template(read_template(broken, ""))
    broken.write_bytes(b"\xff")
    with pytest.raises(UsageError, match="cannot be read"):
        read_template(broken, "")
    broken.write_bytes(b"x" * (2**20 + 1))
    with pytest.raises(UsageError, match="larger than"):
        read_template(broken, "")
    broken.write_text("x")
    for variables in ("[1]", "{", "1"):
        with pytest.raises(UsageError, match="--template-vars"):
            read_template(broken, "", variables)
