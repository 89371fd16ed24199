"""Station 5: accepted answers as JSON lines, with a manifest that says what was left out and why."""
