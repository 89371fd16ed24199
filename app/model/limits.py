"""Numbers that several stations agree on."""

LONGEST_WAIT_MS = 10 * 60_000  # no backoff is longer; a due time further ahead is a jumped clock and counts as due
DEADLINE_SLACK_MS = 60_000  # a lease may be taken from a live worker this long after its request time-out

EXPIRIES_BEFORE_REST = 3  # from this expired lease on a job waits before it is offered again
EXPIRIES_BEFORE_FAILED = 20  # a job that outlived this many workers is taken to kill them
FIRST_REST_MS = 10_000  # doubles with each further expiry

DEATHS_BEFORE_ALONE = 3  # a job in flight at so many deaths of its endpoint is asked with nothing else there
