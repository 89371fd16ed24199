"""Every case of the case file, and every recorded body, is read as it says."""

import json

from app.capture import Asked, Form, read_body
from tests.unit.capture.case_file import CASES, RECORDINGS, Row, expected, read_case, seen


def test_a_case_is_read_as_it_says(case: Row) -> None:
    found = seen(read_case(case))
    assert found == expected(case["expect"], found)


def test_a_case_of_chunks_is_read_the_same_from_the_bytes_of_its_stream(case: Row) -> None:
    if "chunks" not in case:
        return
    request = case["request"]
    asked = Asked(request["thinking"], request.get("profile", "think"), request.get("prompt", ""), Form.SSE)
    stream = "".join(f"data: {json.dumps(chunk)}\n\n" for chunk in case["chunks"]) + "data: [DONE]\n\n"
    assert read_body(case["http_status"], stream.encode(), asked) == read_case(case)


def test_a_recorded_body_is_read_as_it_says(recording: Row) -> None:
    streamed = "event-stream" in (recording["content_type"] or "")
    asked = Asked(thinking=recording["thinking"], form=Form.SSE if streamed else Form.CHAT)
    found = seen(read_body(recording["status"], recording["raw"].encode(), asked))
    wanted = expected(recording["expect"], found)
    if "rejoin" not in recording["expect"]:
        wanted["rejoin"] = found["rejoin"]
    assert found == wanted


def test_the_files_are_whole() -> None:
    assert len(CASES) == 205
    assert len(RECORDINGS) == 208


def test_the_parts_of_a_case_joined_are_its_content(case: Row) -> None:
    reading = read_case(case)
    for choice in reading.choices:
        if choice.parts is not None:
            assert "".join(choice.parts) == sent_content(case, choice.index)


def sent_content(case: Row, index: int) -> str:
    """The text of `message.content` as the server sent it, taken without the parser."""
    if "chunks" in case:
        deltas = [one["delta"] for chunk in case["chunks"] for one in chunk["choices"] if one["index"] == index]
        return "".join(delta.get("content") or "" for delta in deltas)
    content = next(one["message"]["content"] for one in case["body"]["choices"] if one["index"] == index)
    return content if isinstance(content, str) else "".join(part["text"] for part in content)
