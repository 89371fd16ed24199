"""From a stored body to a reading: reasoning, content and a verdict.

Pure and total: no I/O, no clock, and any bytes whatsoever give a `Reading`, never an exception.

    read_body ─ documents ─ events ─ streams ─ envelope ─ message     what the server sent
             ├─ judge ─ fields ─ split ─ harmony                      what of it is thought, and what is answer
             │         └─ protection ─ fences ─ spans ─ tools         which tags are only quoted
             └─ losses                                                what hints that text is missing
"""

from app.capture.asked import Asked, Form
from app.capture.called import calls_of, said
from app.capture.flags import Flag
from app.capture.profiles import PROFILES, Profile
from app.capture.read import PARSER_VERSION, content_of, read_body, read_chunks
from app.capture.reading import ChoiceReading, Parts, Reading, Usage

__all__ = [
    "PARSER_VERSION",
    "PROFILES",
    "Asked",
    "ChoiceReading",
    "Flag",
    "Form",
    "Parts",
    "Profile",
    "Reading",
    "Usage",
    "calls_of",
    "content_of",
    "read_body",
    "read_chunks",
    "said",
]
