"""Every flag a reading may carry. A flag explains a verdict or notes an oddity; it never changes a column."""

from enum import StrEnum


class Flag(StrEnum):
    """What was seen; stored and shown as it stands here."""

    # malformed: exactly one of these, the first reason that holds
    HTTP_ERROR = "http_error"  # status other than 200
    NOT_JSON = "not_json"
    ERROR_BODY = "error_body"  # an error object in place of an answer
    NO_CHOICES = "no_choices"  # no or empty `choices`, or the body is no object
    NO_MESSAGE = "no_message"  # message is no object
    BAD_CONTENT_TYPE = "bad_content_type"  # content, or anything else that is looked at, of an unknown type
    BAD_REASONING_TYPE = "bad_reasoning_type"  # a reasoning field of an unknown type
    ABORTED = "aborted"  # finish reason `abort` or `error`: a partial text with HTTP 200
    NO_FINISH_REASON = "no_finish_reason"  # a cut stream
    BAD_CHUNK = "bad_chunk"  # a chunk of a stream is no object
    ERROR_CHUNK = "error_chunk"  # a stream that reports an error

    # of the message
    MULTIPLE_CHOICES = "multiple_choices"
    UNKNOWN_PART = "unknown_part"  # a content part that is neither text nor thinking
    REFUSAL = "refusal"
    FIELDS_DISAGREE = "fields_disagree"  # two reasoning fields hold different texts
    FIELD_WRAPPED = "field_wrapped"  # the field still wore the tags

    # reasoning in a field of its own
    UNEXPECTED_REASONING = "unexpected_reasoning"  # thinking was switched off, and there is some
    ANSWER_IN_REASONING = "answer_in_reasoning"  # content is blank at a normal end
    CLOSE_TAG_IN_REASONING = "close_tag_in_reasoning"
    CONTENT_EQUALS_REASONING = "content_equals_reasoning"
    DUP_IN_CONTENT = "dup_in_content"  # content starts with the same thought once more
    TAGS_IN_CONTENT = "tags_in_content"  # a rest of a thought in content
    TAG_ECHO = "tag_echo"  # the same, but the prompt speaks of the tags itself

    # reasoning inside content
    UNEXPECTED_CLOSE_TAG = "unexpected_close_tag"
    EMPTY_BLOCK = "empty_block"
    UNCLOSED_AT_STOP = "unclosed_at_stop"
    AMBIGUOUS_NO_TAGS = "ambiguous_no_tags"  # cut, without a tag: taken for a thought
    IMPLICIT_CLOSE_BY_TOOL = "implicit_close_by_tool"  # a tool section ended the thought
    LITERAL_CLOSE_ONLY = "literal_close_only"  # close tags, all of them only mentioned
    LITERAL_CLOSE_IN_REASONING = "literal_close_in_reasoning"  # a mention before the real one
    PROTECTED_CLOSE_USED = "protected_close_used"  # the real one stands in unfinished Markdown
    TOO_MANY_MARKS = "too_many_marks"  # tags, and more back-ticks than code is looked for in
    SPECIALS_STRIPPED = "specials_stripped"  # harmony without its special tokens

    # nothing captured
    NOTHING_GENERATED = "nothing_generated"
    NO_TRACE = "no_trace"
    REASONING_TOKENS_NONZERO = "reasoning_tokens_nonzero"  # counted by the server, not delivered

    # notes on either column
    TOOL_MARKUP_IN_REASONING = "tool_markup_in_reasoning"
    TOOL_MARKUP_IN_CONTENT = "tool_markup_in_content"
    CONTENT_TRUNCATED = "content_truncated"
