"""Pure vocabulary: states and moves, verdicts, the records that pass between layers, exit codes and errors."""
