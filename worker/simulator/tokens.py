"""A tokenizer that can be undone: special tokens have their own ids, other text is two bytes of UTF-8 a token.

Ids say exactly which text they stand for, so a test can prove that the stored ids belong to the stored text.
"""

import re
import struct
from collections.abc import Sequence

_SINGLE = 1 << 16  # an odd last byte of a piece of text: 65536 + byte

SPECIALS = {
    "<|im_end|>": 163586,
    "<|im_user|>": 163587,
    "<|im_assistant|>": 163588,
    "<|im_system|>": 163594,
    "<|tool_calls_section_begin|>": 163595,
    "<|tool_calls_section_end|>": 163596,
    "<|tool_call_begin|>": 163597,
    "<|tool_call_argument_begin|>": 163598,
    "<|tool_call_end|>": 163599,
    "<|im_middle|>": 163601,
    "<think>": 163606,
    "</think>": 163607,
}
END = SPECIALS["<|im_end|>"]

_NAMES = {number: name.encode() for name, number in SPECIALS.items()}
_SPLIT = re.compile("(" + "|".join(re.escape(name) for name in SPECIALS) + ")")
# What `skip_special_tokens` deletes: the thinking tags are ordinary words to the tokenizer, as they are to Kimi-K2.5's.
_DELETED = re.compile(r"<\|(?:tool_call(?:s_section)?_(?:begin|end|argument_begin)|im_end)\|>")


def encode(text: str) -> list[int]:
    """The ids of a text. `decode(encode(text)) == text` for every text that UTF-8 can hold."""
    ids: list[int] = []
    for piece in _SPLIT.split(text):
        special = SPECIALS.get(piece)
        if special is not None:
            ids.append(special)
        else:
            ids += _pairs(piece.encode("utf-8", "surrogatepass"))
    return ids


def decode(ids: Sequence[int]) -> str:
    """The text of some ids; a character that is not complete at the end is left out, as servers do."""
    return b"".join([_bytes(number) for number in ids]).decode("utf-8", "ignore")


def count(text: str) -> int:
    """`len(encode(text))`, without building the list."""
    total = 0
    for piece in _SPLIT.split(text):
        total += 1 if piece in SPECIALS else (len(piece.encode("utf-8", "surrogatepass")) + 1) // 2
    return total


def without_specials(text: str) -> str:
    """The text as a server shows it that was not told `skip_special_tokens: false`."""
    return _DELETED.sub("", text)


def _pairs(data: bytes) -> list[int]:
    even = len(data) & ~1
    ids = list(struct.unpack(f"<{even // 2}H", data[:even]))
    if even != len(data):
        ids.append(_SINGLE + data[-1])
    return ids


def _bytes(number: int) -> bytes:
    name = _NAMES.get(number)
    if name is not None:
        return name
    return number.to_bytes(2, "little") if number < _SINGLE else bytes((number - _SINGLE,))
