"""Sentences with commands in them, cut into pieces that a template places one by one: nothing of them is markup."""

import re
from dataclasses import dataclass

_CODE = re.compile(r"`(?! )([^`\n]+)(?<! )`")
_OPTION = re.compile(r"(?<![\w-])(--?[a-zA-Z][a-zA-Z-]{0,30})(?![\w-])")


@dataclass(frozen=True, slots=True)
class Piece:
    """A text. An option name such as `--verdict` is never broken at its dashes."""

    text: str
    option: bool


@dataclass(frozen=True, slots=True)
class Span:
    """Pieces that stand together; `code` is what a person may type."""

    pieces: tuple[Piece, ...]
    code: bool


def spans(sentence: str) -> list[Span]:
    """What stands between two backticks is code; a backtick without its other is a sign as any other."""
    cut = _CODE.split(sentence)  # texts and codes in turn
    return [Span(_pieces(text), place % 2 == 1) for place, text in enumerate(cut) if text]


def _pieces(text: str) -> tuple[Piece, ...]:
    cut = _OPTION.split(text)
    return tuple(Piece(part, place % 2 == 1) for place, part in enumerate(cut) if part)
