"""A chat template, rendered in the way that transformers renders one, so that a prompt is the text the model saw."""

import hashlib
import json
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache, cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from app.model.errors import NotFound, UsageError

if TYPE_CHECKING:
    import jinja2

LARGEST = 2**20


@dataclass(frozen=True)
class Template:
    """A chat template with what an answer ends with and the variables that it is given, a JSON object."""

    name: str
    text: str
    end_token: str
    variables: str = "{}"

    @property
    def sha256(self) -> str:
        return hashlib.sha256(self.text.encode()).hexdigest()

    @cached_property
    def known(self) -> dict[str, Any]:
        """The variables."""
        found: dict[str, Any] = json.loads(self.variables)
        return found


class Refusal(Exception):
    """The template itself refuses these messages (`raise_exception`)."""


def read_template(path: Path, end_token: str, variables: str = "{}") -> Template:
    """A template from a file."""
    try:
        with path.open("rb") as file:
            data = file.read(LARGEST + 1)
        text = data.decode("utf-8")
    except FileNotFoundError as error:
        raise NotFound(f"There is no template {path}.") from error
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{path} cannot be read as a template: {error}.") from error
    if len(data) > LARGEST:
        raise UsageError(f"{path} is larger than {LARGEST:,} bytes, so it is no chat template.")
    return Template(path.name, text, end_token, _object(variables))


def _object(variables: str) -> str:
    try:
        value = json.loads(variables)
    except ValueError as error:
        raise UsageError(f"--template-vars is no JSON ({error}).") from error
    if not isinstance(value, dict):
        raise UsageError("""--template-vars takes a JSON object, for example '{"bos_token": "<s>"}'.""")
    return json.dumps(value, sort_keys=True)


def refuse_template(template: Template) -> None:
    """Refuse a template that cannot be read, or that writes a token that nobody told: it would write nothing there."""
    import jinja2
    from jinja2 import meta

    try:
        tree = _environment().parse(template.text)
        _compiled(template.text)
    except jinja2.TemplateSyntaxError as error:
        raise UsageError(f"{template.name} line {error.lineno} is no chat template: {error.message}.") from error
    wanted = {name for name in meta.find_undeclared_variables(tree) if name.endswith("_token")}
    untold = sorted(wanted - template.known.keys())
    if untold:
        example = json.dumps(dict.fromkeys(untold, "..."))
        raise UsageError(
            f"{template.name} writes {', '.join(untold)}, which stand in the model's tokenizer_config.json. "
            f"Say them: --template-vars '{example}'."
        )


def render(template: Template, messages: Any, tools: Any, asked: dict[str, Any], at_ms: int) -> str:
    """The prompt that ends where the model begins. `asked` is what the request said to the template.

    Raises Refusal, or UsageError where the template fails. The time that a template may write is that of the request:
    the same answer is the same text, whenever it is exported.
    """
    import jinja2

    when = datetime.fromtimestamp(at_ms / 1000, UTC)
    variables = {"documents": None, **template.known, **asked}
    try:
        return _compiled(template.text).render(
            **variables, messages=messages, tools=tools, add_generation_prompt=True, strftime_now=when.strftime
        )
    except Refusal:
        raise
    except (jinja2.TemplateError, ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        raise UsageError(f"{template.name} fails: {error}.") from error


@cache
def _compiled(text: str) -> "jinja2.Template":
    return _environment().from_string(text)


@cache
def _environment() -> "jinja2.Environment":
    from jinja2.ext import Extension, loopcontrols
    from jinja2.sandbox import ImmutableSandboxedEnvironment

    class Generation(Extension):
        """`{% generation %}` marks for trainers what a model writes; here its content is only content."""

        tags = {"generation"}  # noqa: RUF012 - jinja's own form

        def parse(self, parser: Any) -> Any:
            next(parser.stream)
            return parser.parse_statements(("name:endgeneration",), drop_needle=True)

    made = ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=[Generation, loopcontrols], autoescape=False
    )
    made.filters["tojson"] = _tojson
    made.globals["raise_exception"] = _raise
    return made


def _tojson(
    value: Any, ensure_ascii: bool = False, indent: int | None = None, separators: Any = None, sort_keys: bool = False
) -> str:
    """As chat templates expect it: nothing is escaped for HTML, keys keep their order."""
    return json.dumps(value, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)


def _raise(message: str) -> None:
    raise Refusal(message)
