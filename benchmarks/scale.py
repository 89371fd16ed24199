"""How large an experiment is: in full, or so small that it can be tried in seconds."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Scale:
    """The sizes of all experiments; the figures of a quick run say whether it runs, not how fast it is."""

    rounds: int
    cycle_jobs: int  # C, I
    queue_jobs: int  # C2
    large_store: int  # B, D, E, S: jobs of the large store
    held: int  # D: of them, in a dataset that is held
    claims: int  # D: of each kind
    prompts: int  # F
    answers: int  # G, H: rows of the large export; of these H reads ten thousand at most
    requests: int  # A, A2, L
    occupancy_jobs: int  # B
    slots: int  # B
    in_flight: int  # J
    seconds: float  # J: how long the loop is watched
    server_rows: int  # PG1: jobs of the store on a server
    server_answers: int  # PG1: of them, done and exported


FULL = Scale(
    rounds=5, cycle_jobs=4096, queue_jobs=1024, large_store=3_000_000, held=900_000, claims=40, prompts=1_000_000,
    answers=100_000, requests=4000, occupancy_jobs=5000, slots=256, in_flight=512, seconds=20,
    server_rows=1_000_000, server_answers=300_000,
)  # fmt: skip
QUICK = Scale(
    rounds=3, cycle_jobs=1024, queue_jobs=512, large_store=300_000, held=90_000, claims=15, prompts=10_000,
    answers=4_000, requests=800, occupancy_jobs=600, slots=64, in_flight=64, seconds=5,
    server_rows=60_000, server_answers=30_000,
)  # fmt: skip
SMALL_STORE = 10_000  # D, E: what the large one is compared with
