"""The case file is a test worth having: a parser with any one of these faults fails at least one case."""

import importlib
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

import pytest

import app.capture
from tests.unit.capture.case_file import CASES, expected, read_case, seen
from tests.unit.capture.loss_cases import LOSS_CASES

SOURCE = Path(app.capture.__file__).parent


@dataclass(frozen=True)
class Fault:
    """One change of one line, which must stand in the file exactly once."""

    name: str
    file: str
    line: str
    faulty: str


THREE_FIELDS = '_FIELDS = ("reasoning_content", "reasoning", "thinking")'
FAULTS = (
    Fault("only `reasoning` is read", "message.py", THREE_FIELDS, '_FIELDS = ("reasoning",)'),
    Fault("only `reasoning_content` is read", "message.py", THREE_FIELDS, '_FIELDS = ("reasoning_content",)'),
    Fault("`thinking` is not read", "message.py", THREE_FIELDS, '_FIELDS = ("reasoning_content", "reasoning")'),
    Fault("details are not read", "message.py", "*_fields(message), _details(message),", "*_fields(message),"),
    Fault("blocks are not read", "message.py", "_details(message), _blocks(message),", "_details(message),"),
    Fault("thinking parts are not read", "message.py", "_blocks(message), content.thought]", "_blocks(message)]"),
    Fault("an empty list of parts is null", "message.py",
          '_Content("".join(texts),', '_Content("".join(texts) or None,'),
    Fault("only the first field is looked at", "fields.py",
          "in thoughts if not is_blank", "in thoughts[:1] if not is_blank"),
    Fault("the first copy is taken, not the longest", "fields.py", "max(copies, key=len)", "copies[0]"),
    Fault("copies must be equal to the byte", "fields.py", "if text.strip() == core]", "if text == filled[0]]"),
    Fault("a field keeps its tags", "fields.py", "if not inner.startswith(tags.open):", "if True:"),
    Fault("a field is stripped inside its tags", "fields.py", "return end[: -len(tags.close)]",
          "return end[: -len(tags.close)].strip()"),
    Fault("a field is stripped", "judge.py", "reasoning=reasoning,", "reasoning=reasoning and reasoning.strip(),"),
    Fault("the thought is stripped", "split.py", "self.rest[:at],", "self.rest[:at].strip(),"),
    Fault("the answer is stripped", "split.py", "self.rest[at + close :]", "self.rest[at + close :].strip()"),
    Fault("line ends are normalised", "split.py", "body = text.lstrip()",
          'text = text.replace("\\r\\n", "\\n"); body = text.lstrip()'),
    Fault("the last close tag is taken", "protection.py",
          "                return found.start()\n        return -1\n\n    def control",
          "                return self._text.rindex(tag)\n        return -1\n\n    def control"),
    Fault('`or ""` for reasoning', "judge.py", "reasoning=reasoning,", 'reasoning=reasoning or "",'),
    Fault('`or ""` for content', "judge.py", "content=outcome.content,", 'content=outcome.content or "",'),
    Fault("`or None` for reasoning", "judge.py", "reasoning=reasoning,", "reasoning=reasoning or None,"),
    Fault("`or None` for content", "judge.py", "content=outcome.content,", "content=outcome.content or None,"),
    Fault("`or 0` for tool calls", "judge.py", "tool_calls=tool_calls,", "tool_calls=tool_calls or 0,"),
    Fault("tags in code are taken", "protection.py",
          "or self._code_end(found.start())", "or 0"),
    Fault("fences are ignored", "protection.py", "self._fences.block_end(at) or ", ""),
    Fault("inline code is ignored", "protection.py", " or self._line_of(at).span_end(at)", ""),
    Fault("quotes are ignored", "protection.py", "for left, right in _QUOTES", "for left, right in ()"),
    Fault("only straight quotes count", "protection.py", '("“", "”"),', ""),
    Fault("call arguments are ignored", "protection.py", "return end if", "return 0 if"),
    Fault("a protected tag is never the end", "protection.py", "if second_best >= 0 else", "if False else"),
    Fault("a protected tag is always good enough", "protection.py",
          "        \"\"\"\n        at = 0\n", "        \"\"\"\n        return self._text.index(tag)\n"),
    Fault("back-ticks pair across lines", "protection.py", 'text.rfind("\\n", 0, at) + 1', "0"),
    Fault("tildes make no fence", "fences.py", "|~~~++)(?P<bare>", "|~~~~~~~~~++)(?P<bare>"),
    Fault("a fence ends with LF only", "fences.py", "[ \\t]*\\r?(?:", "[ \\t]*(?:"),
    Fault("the finish reason is ignored", "outcome.py", 'return self.finish_reason == "length"', "return False"),
    Fault("an abort is an answer", "envelope.py", '_PARTIAL = ("abort", "error")', "_PARTIAL = ()"),
    Fault("no finish reason is an answer", "envelope.py",
          "        refuse(Flag.NO_FINISH_REASON)", '        return "stop"'),
    Fault("the status is ignored", "envelope.py", "if http_status is not None and", "if http_status is None and"),
    Fault("an error body is not seen", "envelope.py", 'if body.get("error") or', "if"),
    Fault("choices keep the order of the array", "envelope.py",
          "_first(pair: tuple[int, object]) -> int:\n    return pair[0]",
          "_first(pair: tuple[int, object]) -> int:\n    return 0"),
    Fault("streams of two keys are mixed", "streams.py", "grown.texts.setdefault(key, [])",
          'grown.texts.setdefault("reasoning_content", [])'),
    Fault("lists of a stream are replaced", "streams.py",
          "grown.lists.setdefault(key, []).extend(value)", "grown.lists[key] = value"),
    Fault("calls of a stream are not merged", "calls.py", 'key = fragment.get("index")',
          "key = len(self._fragments)"),
    Fault("`length` counts as captured", "split.py", "return _all_thought(Verdict.TRUNCATED, parts, flags)",
          "return _all_thought(Verdict.SPLIT_FROM_CONTENT, parts, flags)"),
    Fault("a cut thought without tags counts as captured", "split.py",
          "_all_thought(Verdict.TRUNCATED, (", "_all_thought(Verdict.SPLIT_FROM_CONTENT, ("),
    Fault("a cut field counts as captured", "outcome.py",
          "return Verdict.TRUNCATED if", "return Verdict.CAPTURED_FIELD if"),
    Fault("every `<think>` is deleted", "split.py", "body = text.lstrip()",
          'text = text.replace(tags.open, ""); body = text.lstrip()'),
    Fault("an open tag may stand anywhere", "split.py", "if not body.startswith(tags.open):",
          "if tags.open in body: body = body[body.index(tags.open) :]\n    if tags.open not in body:"),
    Fault("an empty block is a capture", "split.py",
          "return Outcome(facts.missing_or_none, reasoning, content, flags | {Flag.EMPTY_BLOCK}, parts)", "pass"),
    Fault("thinking off is not looked at", "outcome.py", "return self.asked.expected", "return True"),
    Fault("thinking not mentioned means off", "asked.py", "self.thinking is not False", "self.thinking is True"),
    Fault("a stray close tag passes", "split.py", "stray = not", "stray = False and not"),
    Fault("tags the prompt speaks of are a leak", "residual.py",
          "echo = tags.tagged(facts.asked.prompt)", "echo = False"),
    Fault("a rest of the thought in content passes", "residual.py", "found=not echo, echo=echo", "found=False"),
    Fault("tool markup in a thought passes", "tools.py", "return text is not None and", "return False and"),
    Fault("an unclosed call counts", "tools.py", "(?<=\\}) (?=<\\|tool_call_end\\|>)\n", "\n"),
    Fault("a tool section does not end the thought", "split.py", "    if section >= 0:", "    if False:"),
    Fault("a section may stand first", "split.py", "and not is_blank(opening.rest[:section]) ", ""),
    Fault("a doubled thought is a leak", "judge.py", "_embedded(field, content, facts.tags) or ", ""),
    Fault("the shorter copy is kept", "judge.py",
          "longer = copy if len(copy) > len(field) else field", "longer = field"),
    Fault("content equal to the field is an answer", "judge.py", "if content.strip() == field.strip():", "if False:"),
    Fault("a close tag in the field passes", "judge.py",
          "if Protection(field).first_unprotected(facts.tags.close) >= 0:",
          "if False:"),
    Fault("a field without an answer is a capture", "judge.py", "    if facts.tool_calls:\n", "    if True:\n"),
    Fault("reasoning tokens are not looked at", "judge.py",
          "if usage is not None and usage.reasoning_tokens:", "if False:"),
    Fault("harmony is read like tags", "judge.py", "if facts.tags.name == HARMONY:", "if False:"),
    Fault("every profile has the tags of the default", "asked.py", "return profile_named(self.profile)\n",
          'return profile_named("think")\n'),
    Fault("a template never opens the thought", "profiles.py",
          '"<think>", "</think>", prompt_opens=True', '"<think>", "</think>"'),
)  # fmt: skip

LOSS_FAULTS = (
    Fault("few tokens are judged", "losses.py", "LEAST_TOKENS = 64", "LEAST_TOKENS = 63"),
    Fault("few tokens are too many", "losses.py", "LEAST_TOKENS = 64", "LEAST_TOKENS = 65"),
    Fault("the ratio is too low", "losses.py", "LEAST_RATIO = 1.2", "LEAST_RATIO = 1.19"),
    Fault("the ratio is too high", "losses.py", "LEAST_RATIO = 1.2", "LEAST_RATIO = 1.21"),
    Fault("only the first choice is measured", "losses.py", "_visible(outer.choices)", "_visible(outer.choices[:1])"),
    Fault("the thought is not text", "message.py", "content + max(map(len, self.thoughts), default=0)", "content"),
    Fault("copies of a thought add up", "message.py", "max(map(len, self.thoughts), default=0)",
          "sum(map(len, self.thoughts))"),
    Fault("calls are not text", "message.py", "default=0) + self.call_chars", "default=0)"),
    Fault("content is not text", "message.py", "return content + max(", "return max("),
    Fault("names of calls are not text", "message.py", 'for key in ("name", "arguments")', 'for key in ("arguments",)'),
    Fault("a function call is not text", "message.py", '(*functions, message.get("function_call"))', "functions"),
    Fault("objects are no arguments", "message.py", "isinstance(text, str | dict))", "isinstance(text, str))"),
    Fault("any white space is an empty line", "losses.py", r"[ \t]*\r?\n", r"\s"),
    Fault("only two line ends are an empty line", "losses.py", r"[ \t]*\r?\n", r"[ \t]*\r?\n\n"),
    Fault("CRLF ends no line", "losses.py", r"\r?\n", r"\n"),
    Fault("blanks make a line full", "losses.py", r"[ \t]*\r?\n", r"\r?\n"),
    Fault("an empty line anywhere counts", "losses.py", "_EMPTY_LINE.match(", "_EMPTY_LINE.search("),
    Fault("an empty block counts", "losses.py", " or row.parts is not None", ""),
    Fault("an answer of line ends counts", "losses.py", "not is_blank(row.content) and", "True and"),
    Fault("a thought does not matter", "losses.py", "if row.verdict not in _WITHOUT_THOUGHT or", "if"),
    Fault("only where thinking was expected", "losses.py", "(Verdict.MISSING, Verdict.NONE_EXPECTED)",
          "(Verdict.MISSING,)"),
)  # fmt: skip


@pytest.fixture
def faulty(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[ModuleType]:
    """A copy of the package with one fault, imported under a name of its own."""
    fault: Fault | None = request.param
    name = f"faulty_{tmp_path.name}".replace("-", "_").replace("[", "_").replace("]", "_")
    copy = tmp_path / name
    copy.mkdir()
    for file in SOURCE.glob("*.py"):
        text = file.read_text(encoding="utf-8")
        if fault is not None and file.name == fault.file:
            assert text.count(fault.line) == 1, f"{fault.file} no longer has the line of this fault: {fault.line}"
            text = text.replace(fault.line, fault.faulty)
        (copy / file.name).write_text(text.replace("app.capture", name), encoding="utf-8")
    sys.path.insert(0, str(tmp_path))
    try:
        yield importlib.import_module(name)
    finally:
        sys.path.remove(str(tmp_path))
        for module in [module for module in sys.modules if module.split(".")[0] == name]:
            del sys.modules[module]


def failing_cases(capture: ModuleType) -> Iterator[str]:
    for case in CASES:
        try:
            found = seen(read_case(case, capture))
        except Exception:  # noqa: BLE001 - a fault that raises is a fault that is seen
            yield case["id"]
        else:
            if found != expected(case["expect"], found):
                yield case["id"]


@pytest.mark.parametrize("faulty", [pytest.param(fault, id=fault.name) for fault in FAULTS], indirect=True)
def test_a_faulty_parser_fails_a_case(faulty: ModuleType) -> None:
    assert next(failing_cases(faulty), None) is not None


def failing_loss_cases(capture: ModuleType) -> Iterator[str]:
    for case in LOSS_CASES:
        if capture.read_body(200, case.body(), capture.Asked(thinking=case.thinking)).loss_flags != case.flags:
            yield case.name


@pytest.mark.parametrize("faulty", [pytest.param(fault, id=fault.name) for fault in LOSS_FAULTS], indirect=True)
def test_a_faulty_detector_fails_a_case_of_losses(faulty: ModuleType) -> None:
    assert next(failing_loss_cases(faulty), None) is not None
    assert list(failing_cases(faulty)) == []


@pytest.mark.parametrize("faulty", [pytest.param(None, id="no fault")], indirect=True)
def test_an_unchanged_copy_fails_none(faulty: ModuleType) -> None:
    assert list(failing_loss_cases(faulty)) == []
    assert list(failing_cases(faulty)) == []
