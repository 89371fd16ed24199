"""Why a row is not taken: the reasons as one table, and the exception that carries one out of the reading code."""

# What was expected instead, by the part of the reason before its colon; shown with every reject.
EXPECTED = {
    # what the bytes of a line must be
    "damaged_file": "compressed data that can be read to its end",
    "cut_array": "an array that is closed, with commas between its rows",
    "after_array": "nothing after the array of rows",
    "bad_table": "as many cells in a row as in the header, quoted as in RFC 4180",
    "too_large": "a row of at most 4 MiB",
    "not_utf8": "UTF-8 text",
    "not_json": "one whole JSON value on one line",
    "duplicate_key": "every key of an object once, since one of two values would be lost",
    "not_finite": "numbers that JSON can write: no NaN, no Infinity",
    "number_too_long": "whole numbers of at most 4,300 digits",
    "too_deep": "at most 64 levels of lists and objects",
    "not_an_object": "a JSON object, {...}",
    # what a row must be
    "unknown_format": "a row of a known format",
    "unsupported_url": "a request to a path that ends in /chat/completions",
    "bad_tools": "tools as a list, or a JSON string of one, in which every function has a name",
    "duplicate_tool_name": "tools with different names",
    "damaged_turn_marker": "turn markers at the start or after an empty line",
    "unknown_role": "roles such as system, user, assistant and tool",
    "multimodal": "text only",
    "no_user_turn": "at least one user turn",
    "empty_user_turn": "text in every user turn",
    "bad_tool_call": "tool calls with a name, and arguments that are a JSON object",
    "tool_result_without_call": "tool results that answer an open call of the assistant turn before them",
    "undeclared_tool": "calls of the row's own tools only",
    "no_answer": "an answer: this row holds none, so its prompt is best imported and asked again",
    "no_prompt": "a sample of this id in the dataset: import the requests before their results",
    # what can be stored and sent
    "lone_surrogate": "whole characters: half of a surrogate pair cannot be sent",
    "no_id": "a value in the field that --id-field names",
    "id_too_long": "an id of at most 1,024 bytes: name another field with --id-field",
    "conflicting_id": "one content under one id",
    "conversation": "a row of preset full, with the answers of all its turns",
    "duplicate_id": "one result for each id",
    "answered": "a result for a job that has no answer yet",
    "duplicate": "a row that the dataset does not have yet (--on-duplicate error)",
}


def expected(reason: str) -> str:
    """What should have stood there instead."""
    return EXPECTED[reason.partition(":")[0]]


class RowRefused(Exception):
    """A row that is not taken; rows.py turns it into a value.

    `reason` is one of the table's words, with what it names after a colon.
    """

    def __init__(self, reason: str, detail: str = "") -> None:
        super().__init__(reason)
        self.reason = reason
        self.detail = detail
