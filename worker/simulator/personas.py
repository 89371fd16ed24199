"""The ways in which servers behave, one table. A persona is a pure function from the facts of a request to a reply."""

import hashlib
from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache

from worker.simulator import tokens
from worker.simulator.answers import CLOSE, Answer, answer_of, tool_section
from worker.simulator.filing import Message, by_vllm, parsed, unparsed
from worker.simulator.reply import HTML, Delivery, Problem, Reply
from worker.simulator.request import Facts

Persona = Callable[[Facts, str], Reply]  # the text is what follows the colon of `name:text`, else empty

BIG_BODY_BYTES = 64 << 20
SLOW_SECONDS = 3.0
RETRY_AFTER_SECONDS = 1


@lru_cache(maxsize=256)
def persona_named(text: str) -> Callable[[Facts], Reply]:
    """The persona that `name` or `name:parameter` names; ValueError when there is none."""
    name, _, parameter = text.partition(":")
    persona = PERSONAS.get(name)
    if persona is None:
        raise ValueError(f"unknown persona {name!r}; known: {', '.join(sorted(PERSONAS))}")
    _check_parameter(name, parameter)
    return lambda facts: persona(facts, parameter)


def _check_parameter(name: str, parameter: str) -> None:
    kind = PARAMETERS.get(name)
    if parameter and kind is None:
        raise ValueError(f"persona {name!r} takes no parameter, but got {parameter!r}")
    if name in NEEDS_PARAMETER and not parameter:
        raise ValueError(f"persona {name!r} needs a number, as in {name}:100")
    if kind is not None and parameter and kind(parameter) < 0:
        raise ValueError(f"the parameter of persona {name!r} must not be below 0")


# What a good server says


def _answer(facts: Facts) -> Answer:
    return answer_of(facts.prompt, facts.answer_bytes, facts.seed, facts.choice)


def _said(facts: Facts) -> str:
    answer = _answer(facts)
    return answer.text if facts.thinking or "[[b64:" in facts.prompt else answer.content


def sglang(facts: Facts, _: str) -> Reply:
    """SGLang without a reasoning parser."""
    return Reply(message=unparsed(_said(facts), facts))


def sglang_parser(facts: Facts, _: str) -> Reply:
    """SGLang with the kimi_k2 parsers."""
    return Reply(message=parsed(_said(facts), facts))


def vllm(facts: Facts, _: str) -> Reply:
    """vLLM with its kimi_k2 parser."""
    return Reply(message=by_vllm(_said(facts), facts))


# What goes wrong inside a completion


def truncated(facts: Facts, _: str) -> Reply:
    """The token limit came in the middle of the thought."""
    thought = _answer(facts).reasoning or ""
    return Reply(message=_stopped_early(thought[: len(thought) // 2], facts, "length"))


def abort(facts: Facts, _: str) -> Reply:
    """A graceful abort: status 200, half of the text."""
    said = _said(facts)
    return Reply(message=_stopped_early(said[: len(said) // 2], facts, "abort"))


def empty_thought(facts: Facts, _: str) -> Reply:
    """The model closed its thought at once."""
    return Reply(message=unparsed(CLOSE + _answer(facts).content, facts))


def no_thought(facts: Facts, _: str) -> Reply:
    """The answer without its thought and with no sign that there was one."""
    return Reply(message=unparsed(_answer(facts).content, facts))


def blank_field(facts: Facts, _: str) -> Reply:
    """The reasoning field holds a line break and the usage counts the tokens of a thought that nobody gets."""
    answer = _answer(facts)
    message = unparsed(answer.content, facts)
    return Reply(message=replace(message, reasoning="\n", reasoning_tokens=tokens.count(answer.reasoning or "") + 1))


def tool_calls(facts: Facts, _: str) -> Reply:
    """Thought, then a call in Kimi's markup, on a server without a tool parser."""
    thought = (_answer(facts).reasoning or "") + CLOSE if facts.thinking else ""
    return Reply(message=unparsed(thought + tool_section(facts.prompt, facts.tool or "lookup"), facts))


def loses_reasoning_after(facts: Facts, parameter: str) -> Reply:
    """Like `sglang` for the first K answers, then like `no_thought`."""
    return sglang(facts, "") if facts.ordinal <= int(parameter) else no_thought(facts, "")


def _stopped_early(said: str, facts: Facts, finish: str) -> Message:
    message = unparsed(said, facts, finish)
    return replace(message, completion_tokens=tokens.count(message.said))  # no end token was reached


# What goes wrong around a completion


def cut_json(facts: Facts, _: str) -> Reply:
    """Complete HTTP, half a JSON text."""
    return replace(sglang(facts, ""), delivery=Delivery.HALF)


def disconnect(facts: Facts, _: str) -> Reply:
    """The connection ends in the middle of the body."""
    return replace(sglang(facts, ""), delivery=Delivery.CUT)


def hang(facts: Facts, _: str) -> Reply:
    """No byte ever comes."""
    return replace(sglang(facts, ""), delivery=Delivery.NEVER)


def drops_all(facts: Facts, _: str) -> Reply:
    """A prompt that kills the server, which is back at once: all connections are cut."""
    return replace(sglang(facts, ""), delivery=Delivery.CUTS_ALL)


def dies(facts: Facts, _: str) -> Reply:
    """A prompt that kills the server, which does not come back: the process ends with status 1."""
    return replace(sglang(facts, ""), delivery=Delivery.ENDS)


def slow(facts: Facts, parameter: str) -> Reply:
    """The body drips over some seconds."""
    return replace(sglang(facts, ""), delivery=Delivery.DRIPPED, drip_seconds=float(parameter or SLOW_SECONDS))


def big_body(facts: Facts, parameter: str) -> Reply:
    """A valid completion with 64 MiB of filler, or as many bytes as the parameter says."""
    return replace(sglang(facts, ""), padding=int(parameter or BIG_BODY_BYTES))


def garbage(facts: Facts, _: str) -> Reply:
    """Status 200 and bytes that mean nothing; the same ones for the same prompt."""
    return Reply(body=hashlib.shake_128(facts.digest).digest(512), generated=False)


def html_200(_facts: Facts, _: str) -> Reply:
    """A proxy's page in place of an answer."""
    page = (
        b"<!DOCTYPE html>\n<html><head><title>Sign in</title></head><body><h1>Sign in to continue</h1></body></html>\n"
    )
    return Reply(body=page, content_type=HTML, generated=False)


def error_200(_facts: Facts, _: str) -> Reply:
    """An error object under status 200."""
    return Reply(body=b'{"error":{"message":"upstream failed","type":"server_error","code":500}}', generated=False)


# Errors by their status


def _http(status: int, message: str, kind: str, param: str | None = None, *, waits: bool = False) -> Persona:
    def persona(facts: Facts, _: str) -> Reply:
        text = message.replace("{model}", facts.model).replace("{key}", facts.credential)
        headers = (("retry-after", str(RETRY_AFTER_SECONDS)),) if waits else ()
        return Reply(status, problem=Problem(text, kind, param), headers=headers, generated=False)

    return persona


def _proxy(status: int, title: str) -> Persona:
    page = (
        f"<html>\n<head><title>{status} {title}</title></head>\n<body>\n<h1>{status} {title}</h1>\n</body>\n</html>\n"
    )
    return lambda _facts, _: Reply(status, body=page.encode(), content_type=HTML, generated=False)


PERSONAS: dict[str, Persona] = {
    "sglang": sglang,
    "no_reasoning_parser": sglang,
    "sglang_parser": sglang_parser,
    "vllm": vllm,
    "truncated": truncated,
    "empty_thought": empty_thought,
    "no_thought": no_thought,
    "blank_field": blank_field,
    "tool_calls": tool_calls,
    "loses_reasoning_after": loses_reasoning_after,
    "abort": abort,
    "html_200": html_200,
    "cut_json": cut_json,
    "error_200": error_200,
    "garbage": garbage,
    "disconnect": disconnect,
    "hang": hang,
    "hang_all": hang,  # and no other route answers either
    "drops_all": drops_all,
    "dies": dies,
    "slow": slow,
    "big_body": big_body,
    "health_503": hang,  # a server whose scheduler died: /health is 503, questions are taken and never answered
    "http_400": _http(400, "temperature must be a non-negative finite number, got -1.0.", "BadRequestError"),
    "http_401": _http(401, "Incorrect API key provided: {key}.", "AuthenticationError"),
    "http_404_model": _http(404, "The model `{model}` does not exist.", "NotFoundError", "model"),
    "http_413": _http(413, "Request body is too large.", "RequestEntityTooLarge"),
    "http_422": _http(422, "Input should be a valid dictionary.", "UnprocessableEntityError"),
    "http_429": _http(429, "Too many requests.", "RateLimitError", waits=True),
    "http_429_bare": _http(429, "Too many requests.", "RateLimitError"),  # without a Retry-After
    "http_500": _http(500, "Internal server error.", "InternalServerError"),
    "http_502": _proxy(502, "Bad Gateway"),
    "http_503": _http(503, "The server is overloaded.", "ServiceUnavailable"),
    "http_503_wait": _http(503, "The server is overloaded.", "ServiceUnavailable", waits=True),
    "http_504": _proxy(504, "Gateway Time-out"),
}

PARAMETERS: dict[str, Callable[[str], float]] = {"loses_reasoning_after": int, "slow": float, "big_body": int}
NEEDS_PARAMETER = frozenset({"loses_reasoning_after"})
ILL_HEALTH = frozenset({"health_503"})  # what /health answers 503 for
SILENT = frozenset({"hang_all"})  # what no route answers for
