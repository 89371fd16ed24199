"""Numbers that several stations agree on."""

LONGEST_WAIT_MS = 10 * 60_000  # no backoff is longer; a due time further ahead is a jumped clock and counts as due
DEADLINE_SLACK_MS = 60_000  # a lease may be taken from a live worker this long after its request time-out

EXPIRIES_BEFORE_REST = 3  # from this expired lease on a job waits before it is offered again
EXPIRIES_BEFORE_FAILED = 20  # a job that outlived this many workers is taken to kill them
FIRST_REST_MS = 10_000  # doubles with each further expiry

DEATHS_BEFORE_ALONE = 3  # a job in flight at so many deaths of its endpoint is asked with nothing else there
CUTS_BEFORE_FAILED = (
    6  # deaths and cuts while asked alone of a job whose server is well right after: then it is the job
)
DEATHS_BESIDE_OUTAGES = 24  # the same where the server goes down by itself, too
MIN_FREE_DISK = 2 * 2**30  # bytes below which nothing new is asked, where a worker is told no other floor
BACKUP_OLD_MS = 36 * 3600_000  # a daily backup may be late by half a day; then `doctor` and an alarm ask for one
BACKUP_LEAST = 100  # answers that are in no backup: fewer are asked again sooner than they are missed


def least_free_disk(disk_bytes: int) -> int:
    """The floor of free space on a disk of this size, where a worker is told no other: 5 % of a small one."""
    return min(MIN_FREE_DISK, disk_bytes // 20)
