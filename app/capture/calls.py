"""Tool calls of a stream: fragments, merged by index into the calls that a body without streaming would hold."""

from app.capture.documents import refuse
from app.capture.flags import Flag

# A call that is merged costs the parser a microsecond whatever it holds; nobody makes so many in one answer.
MAX_CALLS = 2048
_TELLING = frozenset(("index", "id", "function"))
_Fragment = dict[str, object]


class Calls:
    """The calls of one choice while they grow."""

    def __init__(self) -> None:
        self._fragments: dict[object, list[_Fragment]] = {}
        self._last: object = 0

    def add(self, fragments: list[object]) -> None:
        """Add each to the call of its index; without one, to the call of its id, and without that to the last."""
        for fragment in fragments:
            if not isinstance(fragment, dict):
                refuse(Flag.BAD_CONTENT_TYPE)
            if self._fragments and _TELLING.isdisjoint(fragment):
                continue
            key = fragment.get("index")
            if key is None:
                key = fragment.get("id") or self._last
            if type(key) is not int and type(key) is not str:
                refuse(Flag.BAD_CONTENT_TYPE)
            if key in self._fragments:
                self._fragments[key].append(fragment)
            elif len(self._fragments) < MAX_CALLS:
                self._fragments[key] = [fragment]
                self._last = key
            else:
                refuse(Flag.BAD_CONTENT_TYPE)

    def whole(self) -> list[object]:
        """The calls in the order in which they began."""
        return [_call(fragments) for fragments in self._fragments.values()]


def _call(fragments: list[_Fragment]) -> dict[str, object]:
    """The first id that was sent, and all pieces of name and arguments. A call whose id never came has none."""
    identity: object = None
    names, arguments = list[str](), list[str]()
    for one in fragments:
        identity = identity or one.get("id")
        function = one.get("function")
        if isinstance(function, dict):
            _append(names, function.get("name"))
            _append(arguments, function.get("arguments"))
    called = {"name": "".join(names), "arguments": "".join(arguments)}
    call: dict[str, object] = {"type": "function", "function": called}
    return {"id": identity, **call} if isinstance(identity, str) and identity else call


def _append(pieces: list[str], value: object) -> None:
    if isinstance(value, str):
        pieces.append(value)
