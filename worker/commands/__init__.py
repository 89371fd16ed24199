"""One file a verb. A command reads its input, calls one function of app or worker, and shows the result."""
