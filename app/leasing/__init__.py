"""Station 2: who may work at a job. claim, renew, release, fail, rescue; each one statement with its guard."""
