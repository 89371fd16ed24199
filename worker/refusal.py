"""A body that is no answer, in words. Pure."""

from app.capture import Reading

WORDS = 1000  # bytes of a refusal that stand in a failure's message; the whole body is stored


def words_of(reading: Reading, status: int, body: bytes) -> str:
    """Why a body is no answer: what the parser saw in a 200, the server's own words in anything else."""
    if status == 200:
        return f"HTTP 200: {', '.join(sorted(reading.flags))}"
    said = body[:WORDS].decode("utf-8", "replace").replace("\x00", "\N{REPLACEMENT CHARACTER}")
    return f"HTTP {status}: {' '.join(said.split())}"
