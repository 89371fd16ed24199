"""Stored text made safe to show: what would move the cursor, reorder the line or break the encoding becomes visible.

The text itself is never changed by this: `sample --raw` and exports give the exact bytes.
"""

import re

# Controls, lone surrogates, and characters that change the direction or the lines of what stands around them.
_ODD = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]")


def visible(text: str) -> str:
    """The text with every such character as its number, `\\x1b` or `\\u202e`; line ends and tabs stay."""
    return _ODD.sub(_number, text)


def one_line(text: str) -> str:
    """The same for a place that has one line."""
    return visible(text).replace("\n", "\\n").replace("\t", "\\t")


def _number(found: re.Match[str]) -> str:
    code = ord(found.group())
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"
