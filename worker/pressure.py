"""How many requests an endpoint may have open at once, and when an ill one is looked at again. Pure.

Room that is used and not refused grows: it doubles up to what last worked, and beyond that it grows by one. A server
that says it has too much to do keeps what it took, at most half of the limit, and is closed for a moment that doubles
until an answer comes. A server whose failures look like its own is ill: no job is asked until one small question is
answered, and the pauses between these questions double as well. So an outage of any kind costs about one request a
minute, and no job is spent on it.
"""

from dataclasses import dataclass

START = 32  # requests of the first second; twice as many each second, up to the ceiling
QUIET_S = 1.0  # a limit that was full for so long and not refused worked
ADD_EVERY_S = 30.0  # beyond what worked: one more so often, or after a full round of answers if that is sooner
ADD_AT_MOST_EVERY_S = 5.0
FIRST_PAUSE_S = 1.0
LONGEST_PAUSE_S = 60.0
LONGEST_ANSWERED_PAUSE_S = 10.0  # where the small question was answered and the jobs after it were not
LONGEST_ASKED_S = 600.0  # of a Retry-After

FRESH, KNOWN = 3, 1  # what the failure of a job says about its server: less where the job has failed before
SUSPECT = 9  # three jobs failed in a row, and none was answered between them
MOST_SUSPECT = 36


@dataclass(slots=True)
class Pressure:
    """The limit of one endpoint, between 1 and `ceiling`. Every time is one of the caller's monotonic clock."""

    ceiling: int
    limit: int
    worked: int  # up to here the limit doubles
    ill: bool = False
    wants_answer: bool = False  # it is well again when a question was answered; else when it can be reached
    closed_until_s: float = 0.0
    look_at_s: float = 0.0  # of an ill one: when to look next
    _pause_s: float = 0.0  # the last one; 0 after an answer
    _quiet_s: float = QUIET_S
    _full_since_s: float | None = None
    _room_since_s: float | None = None  # nobody has taken what is left of it
    _added_s: float = 0.0
    _worked_before: int = 1  # the refusals since the last answer
    _most_open: int = 0  # while answers came, since the last trouble
    _good: int = 0
    _evidence: int = 0
    _suspect: int = SUSPECT

    @classmethod
    def open(cls, ceiling: int) -> "Pressure":
        """Of a server about which nothing is known."""
        return cls(ceiling, min(START, ceiling), ceiling)

    def room(self, busy: int, now_s: float) -> int:
        """How many more requests may be opened now, `busy` being open. A limit that stayed full grows here."""
        if self.ill or now_s < self.closed_until_s:
            return 0
        if busy >= self.limit:
            self._is_full(now_s)
        elif self._room_since_s is None:
            self._room_since_s = now_s
        return max(0, self.limit - busy)

    def _is_full(self, now_s: float) -> None:
        """Room that an answer leaves is full again with the next claim, which is no time without use."""
        unused = self._room_since_s is not None and now_s - self._room_since_s > QUIET_S
        self._room_since_s = None
        if self._full_since_s is None or unused:
            self._full_since_s = now_s
        elif now_s - self._full_since_s >= self._quiet_s:
            self._grow(now_s)

    def answered(self, now_s: float, others_open: int) -> None:
        """A good answer came, while so many other requests were open."""
        self._most_open = max(self._most_open, others_open + 1)
        self._pause_s, self._quiet_s = 0.0, QUIET_S
        self._evidence, self._suspect = 0, SUSPECT
        self.ill = self.ill and not self.wants_answer
        self._good += 1
        if self.limit < self.worked:
            self.limit += 1
        elif self._good >= self.limit and now_s - self._added_s >= ADD_AT_MOST_EVERY_S:
            self._add(now_s)

    def refused(self, now_s: float, others_open: int, retry_after_s: float | None, took_s: float = 0.0) -> None:
        """The server said that it has too much to do; `others_open` of its requests it has not refused."""
        if now_s >= self.closed_until_s:  # else it is one of the burst that closed it
            self._shrink(self.limit // 2)
            self._be_patient(took_s)
            if not self._pause_s:  # the first since an answer
                self._worked_before = self.worked
            self._added_s, self.closed_until_s = now_s, now_s + self._next_pause(LONGEST_PAUSE_S)
        self.limit = max(1, min(self.limit, others_open))
        overloaded = others_open * 2 >= self._worked_before  # else it takes nothing, which says nothing of its size
        self.worked = max(1, min(others_open, self.worked)) if overloaded else self._worked_before
        if retry_after_s is not None:
            self.closed_until_s = max(self.closed_until_s, now_s + min(retry_after_s, LONGEST_ASKED_S))

    def failed(self, now_s: float, *, failed_before: bool, took_s: float = 0.0) -> bool:
        """A request failed in a way that may be the server's; whether that makes it ill now."""
        self._evidence += KNOWN if failed_before else FRESH
        if self.ill or self._evidence < self._suspect:
            return False
        self._be_patient(took_s)
        self.fell_ill(now_s, wants_answer=True)
        return True

    def fell_ill(self, now_s: float, *, wants_answer: bool = False) -> None:
        """Nothing is asked of it until it is looked at: at once, or after a pause where the last look was no use."""
        if not self.ill:
            self.ill, self.wants_answer = True, wants_answer
            self.look_at_s = now_s + self._pause_s
            self._shrink(1)

    def looked_ill(self, now_s: float) -> None:
        """A look went badly: the next one comes after a longer pause."""
        self.look_at_s = now_s + self._next_pause(LONGEST_PAUSE_S)

    def looked_well(self) -> None:
        """A look went well: one job may be asked, then two, four ... as long as none of them fails.

        Where a question was answered, more failures than before must come in a row until it is ill again, since now
        the jobs are suspects too.
        """
        self.ill = False
        self._evidence = 0
        if self.wants_answer:
            self._suspect = min(self._suspect * 2, MOST_SUSPECT)
        self._next_pause(LONGEST_ANSWERED_PAUSE_S if self.wants_answer else LONGEST_PAUSE_S)

    def _grow(self, now_s: float) -> None:
        if self.limit < self.worked:
            self.limit = min(self.worked, self.limit * 2)
            self._full_since_s = now_s
        elif now_s - self._added_s >= ADD_EVERY_S:
            self._add(now_s)

    def _add(self, now_s: float) -> None:
        self.limit = min(self.ceiling, self.limit + 1)
        self.worked = max(self.worked, self.limit)
        self._added_s, self._good = now_s, 0

    def _shrink(self, limit: int) -> None:
        if self._most_open:
            self.worked = max(1, min(self.ceiling, self._most_open))
        self.limit = max(1, min(self.limit, limit))
        self._most_open = self._good = 0
        self._full_since_s = self._room_since_s = None

    def _be_patient(self, took_s: float) -> None:
        """What takes a minute to fail may not be taken for working after a second."""
        self._quiet_s = max(self._quiet_s, took_s * 1.5)

    def _next_pause(self, longest_s: float) -> float:
        self._pause_s = min(longest_s, max(FIRST_PAUSE_S, self._pause_s * 2))
        return self._pause_s
