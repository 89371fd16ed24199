"""What the model says to a prompt. Pure: a test that knows the prompt knows the answer, to the byte."""

import base64
import binascii
import hashlib
import re
from dataclasses import dataclass

from worker.simulator.prose import CODE, MEAN_BYTES, SENTENCES, TAILS

OPEN = "<think>"
CLOSE = "</think>"
DEFAULT_ANSWER_BYTES = 4096

_DIRECTIVE = re.compile(r"\[\[b64:([^\]]*)\]\]")


@dataclass(frozen=True, slots=True)
class Answer:
    """One answer in its two halves, with the white space that the model wrote around them."""

    reasoning: str | None  # None: the text has no closing marker, so no thought can be told apart
    content: str

    @property
    def text(self) -> str:
        """The raw completion, as the model wrote it."""
        return self.content if self.reasoning is None else self.reasoning + CLOSE + self.content


def digest_of(prompt: str) -> bytes:
    """The sha256 of a prompt; a lone surrogate is hashed by its code point."""
    return hashlib.sha256(prompt.encode("utf-8", "surrogatepass")).digest()


def key_of(prompt: str) -> str:
    """The short name of a prompt. It stands in both halves of its answer and in the counters."""
    return digest_of(prompt).hex()[:16]


def answer_of(
    prompt: str, answer_bytes: int = DEFAULT_ANSWER_BYTES, seed: int | None = None, choice: int = 0
) -> Answer:
    """The answer to a prompt, always the same one.

    Its size lies between half and one and a half `answer_bytes`. A request with another `seed`, or a later choice of
    `n`, gets other words under the same key. A prompt with `[[b64:...]]` gets exactly that text.
    """
    dictated = _dictated(prompt)
    if dictated is not None:
        before, found, after = dictated.partition(CLOSE)
        return Answer(before, after) if found else Answer(None, dictated)
    return _composed(prompt, answer_bytes, seed, choice)


def full_text(prompt: str, answer_bytes: int = DEFAULT_ANSWER_BYTES, seed: int | None = None, choice: int = 0) -> str:
    """The raw completion: reasoning, closing marker, content."""
    return answer_of(prompt, answer_bytes, seed, choice).text


def tool_section(prompt: str, name: str = "lookup") -> str:
    """A call of the tool `name` in Kimi's markup, with the prompt's key as its argument."""
    return (
        "<|tool_calls_section_begin|><|tool_call_begin|>functions."
        f'{name}:0<|tool_call_argument_begin|>{{"key": "{key_of(prompt)}"}}<|tool_call_end|><|tool_calls_section_end|>'
    )


def _dictated(prompt: str) -> str | None:
    if "[[b64:" not in prompt:
        return None
    found = _DIRECTIVE.search(prompt)
    if found is None:
        return None
    try:
        return base64.b64decode(found[1], validate=True).decode()
    except (binascii.Error, UnicodeDecodeError) as error:
        raise ValueError(f"the prompt's [[b64:...]] is not base64 of UTF-8: {error}") from error


def _composed(prompt: str, answer_bytes: int, seed: int | None, choice: int) -> Answer:
    key = key_of(prompt)
    variant = "" if seed is None and choice == 0 else f":{seed}:{choice}"
    stream = hashlib.shake_128(f"{key}{variant}:{answer_bytes}".encode())
    sentences = max(2, answer_bytes // MEAN_BYTES)
    picks = stream.digest(sentences * 2 + 4)
    total = max(2, sentences // 2 + sentences * picks[0] // 256)  # half to one and a half times the wish
    thought = total * 2 // 3
    shape = picks[1]
    reasoning = f" Request {key}. " + "".join([SENTENCES[pick] for pick in picks[4 : 4 + thought]])
    content = f"\n\nAnswer {key}: " + "".join([SENTENCES[pick] for pick in picks[4 + thought : 4 + total]])
    if shape & 3 == 0:
        content += CODE[picks[2] % len(CODE)]
    # What stands at the ends differs on purpose: an answer that was stripped on its way is not this answer.
    return Answer(reasoning + TAILS[picks[2] % len(TAILS)], content + TAILS[picks[3] % len(TAILS)])
