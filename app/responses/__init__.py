"""Station 3: the body first, the reading second, then the job's move; and reading stored bodies again."""
