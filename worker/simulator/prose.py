"""The stock of sentences that answers are made of: 256 of them, so that one byte picks one."""

_SUBJECTS = (
    "The first step", "A careful reader", "This part of the question", "The usual definition", "What was asked here",
    "The smaller case", "Every remaining term", "The second sentence", "A simple example", "The table above",
    "One more detail", "The user’s wording", "That assumption", "The general rule", "My earlier estimate",
    "The naïve approach",
)  # fmt: skip

_PREDICATES = (
    "follows from what was given, so nothing else has to be assumed. ",
    "can be checked by hand: 6 × 7 = 42, and 42 − 2 = 40. ",
    "is easier to see when it is written down in full.\n",
    "needs a second look, because “nearly the same” is not “the same”. ",
    "holds for small numbers, and by induction for all others. ",
    "may look odd, but it does not change the result.\n\n",
    'says "at most", not "at least", and that decides it. ',
    "was measured twice; both times the difference was below 0.5 %. ",
    "does not depend on the order in which the parts are taken.\n",
    "means 答案 in one language and réponse in another, nothing more. ",
    "should be stated first, so that the rest reads without effort. ",
    "fits in one line: `total = sum(parts)`, if the parts are known. ",
    "\tis kept as it stands, tabs and all; it costs nothing. ",
    "would fail for an empty list, so that case is treated apart.\n\n",
    "is the reason why the shorter version was chosen 🙂. ",
    "leads to the same value, C:\\temp\\x or /tmp/x, whichever is read. ",
)

SENTENCES = tuple(f"{subject} {predicate}" for subject in _SUBJECTS for predicate in _PREDICATES)
MEAN_BYTES = sum(len(sentence.encode()) for sentence in SENTENCES) // len(SENTENCES)

CODE = (
    "\n\n```python\ndef total(parts: list[int]) -> int:\n    return sum(parts)  # “parts” may be empty\n```\n",
    '\n\n```json\n{"answer": 42, "unit": "µm", "note": "a \\"quoted\\" word"}\n```',
    "\n\n~~~\nplain text, < & > kept as they are\n~~~\n\nThat is all.",
    "\n\n1. First.\n2. Then:\n\n   ```sh\n   printf '%s\\n' \"$HOME\"\n   ```\n",
)

TAILS = ("", "\n", "", " ", "\n\n", "", "  \n", "")
