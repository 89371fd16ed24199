"""One real answer before the first job: where does the reasoning come, and does it come at all?"""

import json
import re
from dataclasses import dataclass

from app.capture import Asked, Reading, read_body
from app.leasing.claim import Prompt
from app.model.config import DatasetConfig
from app.model.errors import CaptureFailed
from app.model.verdicts import CAPTURED, Verdict
from worker.asking import Question, question
from worker.endpoint import Answer
from worker.pool import Server
from worker.refusal import words_of

PROMPTS = (
    "What is 17 times 23? Answer with one short sentence.",
    "Name a prime number between 90 and 100. Answer with one short sentence.",
    "Which is heavier, a litre of water or a litre of oil? Answer with one short sentence.",
)
MAX_TOKENS = 4096
LONGEST_S = 600.0  # for the first answer; a server that loads its kernels takes minutes
FEW_TOKENS = 16  # enough to see that the server answers
_FILLED = re.compile(r'"(reasoning_content|reasoning|thinking|reasoning_details|thinking_blocks)":\s*(?!null|"")')


@dataclass(frozen=True, slots=True)
class Probe:
    """One answer and what it says about the server."""

    answer: Answer
    asked: Question
    reading: Reading

    @property
    def captured(self) -> bool:
        """Whether reasoning is there, or was not expected; a thought that was cut off is one."""
        if self.reading.verdict is Verdict.TRUNCATED:
            return self.reading.reasoning is not None
        return self.reading.verdict in CAPTURED or self.reading.verdict is Verdict.NONE_EXPECTED

    @property
    def where(self) -> str:
        """In words, where the reasoning is."""
        match self.reading.verdict:
            case Verdict.CAPTURED_FIELD:
                return f"Reasoning comes in a field of its own ({field_of(self.answer.body)}), as the server split it."
            case Verdict.SPLIT_FROM_CONTENT:
                return "Reasoning comes inside the content, before the closing tag; it is split here, byte for byte."
            case Verdict.NONE_EXPECTED:
                return "Thinking is switched off, and no reasoning comes."
            case Verdict.MISSING:
                return "No reasoning comes: neither a field nor a closing tag holds any, although thinking is expected."
            case Verdict.LEAKED:
                return f"Reasoning and content come mixed up ({', '.join(sorted(self.reading.flags))})."
            case Verdict.TRUNCATED:
                return "The answer was cut off by its token limit before the thought ended, so this says little."
            case Verdict.MALFORMED:
                return f"No answer came. {words_of(self.reading, self.answer.status, self.answer.body)}"

    @property
    def mode(self) -> str:
        """In words, how the server is asked."""
        if self.asked.raw_text_sent:
            return "lossless: the server is asked for its raw text (separate_reasoning=false)"
        return "as the server splits; exactness unknown"


async def probe(
    server: Server, config: DatasetConfig, number: int = 0, *, few: bool = False, timeout_s: float | None = None
) -> Probe:
    """Ask one small question as the jobs of a dataset with `config` are asked. Raises AskFailed.

    `few`: only a few tokens, which show that the server answers and say nothing of its reasoning.
    """
    messages = json.dumps([{"role": "user", "content": PROMPTS[number % len(PROMPTS)]}])
    tokens = FEW_TOKENS if few else _limit(server, config)
    prompt = Prompt("probe", 0, messages, None, None, config.changed(max_tokens=tokens).to_json())
    asked = question(prompt, server.default_model, server.dialect)
    answer = await server.endpoint.ask(asked.body, timeout_s=timeout_s)
    about = Asked(None if asked.expected else False, asked.profile, PROMPTS[number % len(PROMPTS)], asked.form)
    return Probe(answer, asked, read_body(answer.status, answer.body, about))


def _limit(server: Server, config: DatasetConfig) -> int:
    """Enough for a small thought whatever the dataset's limit is, and no more than half of what the model can hold."""
    model = server.models.get(server.default_model)
    length = None if model is None else model.max_model_len
    asked = MAX_TOKENS if config.max_tokens is None else max(MAX_TOKENS, config.max_tokens)
    return asked if length is None else max(1, min(asked, length // 2))


def require_reasoning(found: Probe, url: str) -> None:
    """Raise where an answer came and its reasoning did not."""
    if not found.captured:
        raise CaptureFailed(
            f"{url}: {found.where} Nothing was asked yet. Check the server's chat template, its --reasoning-parser and "
            "the dataset's --profile and --thinking; `thinkledger probe --endpoint URL` tries again, and "
            "`worker start --skip-preflight` starts all the same."
        )


def field_of(body: bytes) -> str:
    """The first key of the message that holds reasoning; for words only."""
    text = body.decode("utf-8", "replace")
    there = [(found.start(), found[1]) for found in _FILLED.finditer(text)]
    return min(there)[1] if there else "unnamed"
