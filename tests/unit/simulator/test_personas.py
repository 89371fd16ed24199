"""What each persona says, described without a byte of HTTP."""

import base64
from dataclasses import replace

import pytest

from worker.simulator import tokens
from worker.simulator.answers import CLOSE, answer_of, digest_of, full_text, key_of, tool_section
from worker.simulator.config import Config, parse_args
from worker.simulator.filing import Message
from worker.simulator.personas import PERSONAS, persona_named
from worker.simulator.reply import Delivery
from worker.simulator.request import Facts, facts_of, read_request

PROMPT = "Why is the sky blue?"
ANSWER = answer_of(PROMPT)


def facts(prompt: str = PROMPT, **changes: object) -> Facts:
    return replace(Facts(prompt, digest_of(prompt)), **changes)  # type: ignore[arg-type]


def message_of(persona: str, **changes: object) -> Message:
    message = persona_named(persona)(facts(**changes)).message  # type: ignore[arg-type]
    assert message is not None
    return message


@pytest.mark.parametrize("name", sorted(PERSONAS))
def test_a_persona_gives_the_same_reply_for_the_same_facts(name: str) -> None:
    text = f"{name}:3" if name == "loses_reasoning_after" else name
    assert persona_named(text)(facts()) == persona_named(text)(facts())


def test_without_a_parser_all_text_is_content() -> None:
    message = message_of("sglang")
    assert (message.content, message.reasoning, message.finish) == (full_text(PROMPT), None, "stop")
    assert message.content is not None
    assert message.content.startswith(" ")


def test_with_a_parser_both_halves_are_verbatim() -> None:
    message = message_of("sglang_parser")
    assert (message.reasoning, message.content) == (ANSWER.reasoning, ANSWER.content)
    assert message.reasoning_tokens == tokens.count(f"{ANSWER.reasoning}{CLOSE}")


def test_separate_reasoning_false_gives_raw_text_in_spite_of_the_parser() -> None:
    message = message_of("sglang_parser", separate=False)
    assert (message.reasoning, message.content) == (None, full_text(PROMPT))


def test_instant_mode_gives_the_content_alone() -> None:
    for persona in ("sglang", "sglang_parser", "vllm"):
        message = message_of(persona, thinking=False)
        assert (message.reasoning, message.content) == (None, ANSWER.content)


def test_the_parser_takes_a_text_without_marker_for_a_thought() -> None:
    prompt = f"[[b64:{base64.b64encode(b'plain').decode()}]]"
    message = message_of("sglang_parser", prompt=prompt)
    assert (message.reasoning, message.content) == ("plain", "")


def test_truncated_ends_inside_the_thought() -> None:
    message = message_of("truncated")
    assert message.finish == "length"
    assert message.content
    assert CLOSE not in message.content
    assert full_text(PROMPT).startswith(message.content)


def test_a_limit_of_tokens_cuts_the_text_and_says_so() -> None:
    message = message_of("sglang", limit=20)
    assert message.finish == "length"
    assert message.completion_tokens == 20
    assert message.content == full_text(PROMPT)[:40]


def test_an_end_token_exactly_at_the_limit_is_a_stop() -> None:
    needed = tokens.count(full_text(PROMPT)) + 1
    assert message_of("sglang", limit=needed).finish == "stop"
    assert message_of("sglang", limit=needed - 1).finish == "length"


def test_no_thought_shows_no_sign_of_one() -> None:
    message = message_of("no_thought")
    assert (message.content, message.reasoning, message.finish) == (ANSWER.content, None, "stop")
    assert message.reasoning_tokens == 0


def test_a_blank_field_counts_tokens_of_a_thought_that_nobody_gets() -> None:
    message = message_of("blank_field")
    assert message.reasoning == "\n"
    assert message.reasoning_tokens > 0
    assert message.content == ANSWER.content


def test_an_empty_thought_starts_with_the_marker() -> None:
    assert message_of("empty_thought").content == CLOSE + ANSWER.content


def test_tool_calls_come_as_markup_where_the_client_asked_for_tools() -> None:
    message = message_of("tool_calls", tool="get_weather", specials=True)
    assert message.content == f"{ANSWER.reasoning}{CLOSE}{tool_section(PROMPT, 'get_weather')}"
    assert "<|" not in (message_of("tool_calls").content or "")


def test_the_tool_parser_takes_calls_out_of_the_text() -> None:
    text = "thought</think>Let me look.<|tool_calls_section_begin|>" + tool_section("q", "f").partition("begin|>")[2]
    prompt = f"[[b64:{base64.b64encode(text.encode()).decode()}]]"
    message = message_of("sglang_parser", prompt=prompt, tool="f", specials=True)
    assert (message.reasoning, message.content, message.finish) == ("thought", "Let me look.", "tool_calls")
    assert [(call.id, call.name, call.arguments) for call in message.tool_calls] == [
        ("functions.f:0", "f", f'{{"key": "{key_of("q")}"}}')
    ]


def test_reasoning_is_lost_after_so_many_answers() -> None:
    contents = [message_of("loses_reasoning_after:2", ordinal=ordinal).content for ordinal in (1, 2, 3)]
    assert contents == [full_text(PROMPT), full_text(PROMPT), ANSWER.content]


@pytest.mark.parametrize(
    ("name", "delivery"),
    [("cut_json", "half"), ("disconnect", "cut"), ("hang", "never"), ("slow", "dripped"), ("health_503", "never")],
)
def test_deliveries_that_go_wrong(name: str, delivery: str) -> None:
    assert persona_named(name)(facts()).delivery is Delivery(delivery)


@pytest.mark.parametrize("status", [400, 401, 413, 422, 429, 500, 502, 503, 504])
def test_errors_have_their_status_and_take_no_slot(status: int) -> None:
    reply = persona_named(f"http_{status}")(facts())
    assert reply.status == status
    assert not reply.generated
    assert (("retry-after", "1") in reply.headers) == (status == 429)


def test_a_gateway_that_quotes_the_key_and_a_server_that_names_the_model() -> None:
    denied = persona_named("http_401")(facts(credential="sk-secret")).problem
    unknown = persona_named("http_404_model")(facts(model="no-such")).problem
    assert denied is not None
    assert "sk-secret" in denied.message
    assert unknown is not None
    assert "`no-such` does not exist" in unknown.message


@pytest.mark.parametrize("text", ["nobody", "sglang:3", "loses_reasoning_after", "slow:x", "slow:-1", "big_body:1.5"])
def test_what_is_no_persona_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"persona|could not convert|invalid literal"):
        persona_named(text)


def test_the_last_user_message_is_the_prompt() -> None:
    request = read_request(
        b'{"messages":[{"role":"user","content":"a"},{"role":"assistant","content":"b"},'
        b'{"role":"user","content":[{"type":"text","text":"c"},{"type":"text","text":"d"}]},'
        b'{"role":"assistant","content":null}],"foo_bar":1,"chat_template_kwargs":{"thinking":false}}'
    )
    assert request.prompt == "cd"
    assert request.model == "default"
    assert not facts_of(request, request.prompt, 100, "", 1).thinking
    assert request.rendered().endswith("<think></think>")


@pytest.mark.parametrize(
    "kwargs", ["null", "{}", '{"enable_thinking":false}', '{"thinking":true}', '{"thinking":null}']
)
def test_only_thinking_false_switches_thinking_off(kwargs: str) -> None:
    body = f'{{"messages":[{{"role":"user","content":"a"}}],"chat_template_kwargs":{kwargs}}}'
    assert read_request(body.encode()).thinking


@pytest.mark.parametrize(
    "body",
    [
        b"", b'{"model":', b"[]", b"{}", b'{"messages":[]}', b'{"messages":[{"role":"alien","content":"a"}]}',
        b'{"messages":[{"role":"user","content":5}]}', b'{"messages":[{"role":"user","content":"\\ud800"}]}',
        b'{"messages":[{"role":"user","content":"\xff"}]}', b'{"messages":[{"role":"user","content":"a"}],"n":0}',
        b'{"messages":[{"role":"user","content":"a"}],"max_tokens":-5}',
        b'{"messages":[{"from":"human","value":"a"}]}',
        b'{"messages":[{"role":"user","content":"a"}],"max_tokens":"lots"}',
    ],
)  # fmt: skip
def test_what_is_no_request_is_refused(body: bytes) -> None:
    with pytest.raises(ValueError, match=r"\w"):
        read_request(body)


def test_the_command_line_gives_a_configuration() -> None:
    config = parse_args(
        ["--persona", "slow:2", "--fault", "hang@every:3", "--fault", "http_500@first:1", "--slots", "4"]
    )
    assert config == Config(persona="slow:2", faults=("hang@every:3", "http_500@first:1"), slots=4)
    assert parse_args([]).host == "127.0.0.1"


@pytest.mark.parametrize(
    "argv", [["--persona", "nobody"], ["--fault", "hang"], ["--latency", "x"], ["--slots", "0"], ["--what"]]
)
def test_a_wrong_command_line_ends_with_status_2(argv: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        parse_args(argv)
    assert ended.value.code == 2
    assert argv[0] in capsys.readouterr().err


def test_a_configuration_that_cannot_be_played_is_refused() -> None:
    for wrong in ({"persona": "nobody"}, {"faults": ("hang",)}, {"latency": "x"}, {"slots": 0}):
        with pytest.raises(ValueError, match=r"\w"):
            Config(**wrong)
