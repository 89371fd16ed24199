"""`python -m worker` is the command `worker`."""

from worker.cli import main_worker

main_worker()
