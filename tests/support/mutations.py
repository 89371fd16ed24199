"""Bytes as no writer meant them: every kind of damage and malice, the same for the same seed."""

import json
import random
from collections.abc import Callable, Sequence
from typing import Any

Json = Any
NUMBERS = (b"9" * 5000, b"1e999", b"-1e-999", b"18446744073709551616", b"-9223372036854775809", b"0.1" + b"0" * 400)
ODD: tuple[Json, ...] = (
    *(None, True, False, 0, -1, 5, 2**63, 2**200, 1.5, "", " ", "x", "\ud800", "a\x00b", "\u2028", "\ufeff", [], {}),
    *([[]], [None], [5], ["x"], {"": None}, {"role": "user"}, {"content": "x"}, "user", "assistant", "tool", "<think>"),
    *("</think>", "stop", "length", "[]", "{", [{}], {"type": "text", "text": "x"}, {"id": [], "function": None}),
)
PIECES = (
    *(b"\x00", b"\xff", b"\xc3", b"\xed\xa0\x80", b"\xef\xbb\xbf", b"\\ud83d", b"\\udc00", b"\\u0000", b"\\", b'"'),
    *(b"{", b"}", b"[", b"]", b",", b":", b"NaN", b"Infinity", b"-", b"\r", b"\n", b"\t", b"\x85", b"\xe2\x80\xa8"),
    *(b"null", b"true", b"<think>", b"</think>", b"data: ", b"[DONE]", b"/**/", b"'"),
)


class Mutator:
    """Makes one odd line or body of a good one at each call."""

    def __init__(self, seed: int) -> None:
        self._chance = random.Random(seed)
        self._ways: tuple[Callable[[bytes], bytes], ...] = (
            *(self._flip, self._cut, self._drop, self._insert, self._swap, self._double, self._number, self._nest),
            *(self._double_key, self._encode, self._value, self._value, self._key, self._value, self._without),
        )

    def one_of(self, good: Sequence[bytes]) -> bytes:
        """One to three mutations of one of them."""
        data = self._chance.choice(good)
        for _ in range(self._chance.choice((1, 1, 1, 2, 3))):
            data = self._chance.choice(self._ways)(data)
        return data

    def choice(self, values: Sequence[Any]) -> Any:
        return self._chance.choice(values)

    def _place(self, data: bytes) -> int:
        return self._chance.randrange(len(data) + 1)

    def _span(self, data: bytes) -> tuple[int, int]:
        start = self._place(data)
        return start, min(len(data), start + self._chance.randrange(1, 40))

    def _flip(self, data: bytes) -> bytes:
        if not data:
            return data
        place = self._chance.randrange(len(data))
        return data[:place] + bytes([data[place] ^ (1 << self._chance.randrange(8))]) + data[place + 1 :]

    def _cut(self, data: bytes) -> bytes:
        return data[: self._place(data)]

    def _drop(self, data: bytes) -> bytes:
        start, end = self._span(data)
        return data[:start] + data[end:]

    def _insert(self, data: bytes) -> bytes:
        place = self._place(data)
        return data[:place] + self._chance.choice(PIECES) * self._chance.choice((1, 1, 2, 50)) + data[place:]

    def _swap(self, data: bytes) -> bytes:
        one, two, three, four = sorted(self._place(data) for _ in range(4))
        return data[:one] + data[three:four] + data[two:three] + data[one:two] + data[four:]

    def _double(self, data: bytes) -> bytes:
        start, end = self._span(data)
        return data[:end] + data[start:end] + data[end:]

    def _number(self, data: bytes) -> bytes:
        place = data.find(b":", self._place(data))
        end = min((found for mark in b",}" if (found := data.find(mark, place)) > 0), default=place)
        return data if place < 0 else data[: place + 1] + self._chance.choice(NUMBERS) + data[end:]

    def _nest(self, data: bytes) -> bytes:
        deep = self._chance.choice((2, 63, 64, 65, 300, 5000))
        opening, closing = self._chance.choice(((b"[", b"]"), (b'{"a":', b"}")))
        place = data.find(b":", self._place(data)) + 1
        end = data.rfind(b"}")
        inside = opening * deep + b"1" + closing * deep
        return data[:place] + inside + data[end:] if place and end > place else inside

    def _double_key(self, data: bytes) -> bytes:
        key = self._chance.choice((b"prompt", b"messages", b"sample_id", b"choices", b"content", b"a"))
        return data.replace(b"{", b'{"%s": 1, ' % key, self._chance.choice((1, 1, 3)))

    def _encode(self, data: bytes) -> bytes:
        text = data.decode("utf-8", "replace")
        how = self._chance.choice(("utf-16", "utf-16-le", "utf-32", "latin-1", "utf-8-sig", "utf-7", "cp037"))
        return text.encode(how, "replace")

    def _tree(self, data: bytes, change: Callable[[Json, Any], None]) -> bytes:
        """Change one member somewhere in the value."""
        try:
            value = json.loads(data)
        except (ValueError, RecursionError):
            return self._flip(data)
        places = list(_members(value))
        if not places:
            return self._flip(data)
        change(*self._chance.choice(places))
        return json.dumps(value, ensure_ascii=self._chance.random() < 0.5).encode("utf-8", "surrogatepass")

    def _value(self, data: bytes) -> bytes:
        def change(parent: Json, key: Any) -> None:
            parent[key] = self._chance.choice(ODD)

        return self._tree(data, change)

    def _key(self, data: bytes) -> bytes:
        def change(parent: Json, key: Any) -> None:
            if isinstance(parent, dict):
                parent[self._chance.choice(("", "id", "prompt", "tools", "content", "x\ud800"))] = parent.pop(key)

        return self._tree(data, change)

    def _without(self, data: bytes) -> bytes:
        def change(parent: Json, key: Any) -> None:
            del parent[key]

        return self._tree(data, change)


def _members(value: Json) -> list[tuple[Json, Any]]:
    """Every place in a value that holds another, without recursion."""
    found: list[tuple[Json, Any]] = []
    waiting = [value]
    while waiting:
        parent = waiting.pop()
        keys: Any = list(parent) if isinstance(parent, dict) else range(len(parent)) if isinstance(parent, list) else ()
        found += [(parent, key) for key in keys]
        waiting += [parent[key] for key in keys]
    return found
