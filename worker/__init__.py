"""The loop that asks the endpoint, the simulator that stands in for one, and the command line."""
