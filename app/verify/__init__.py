"""Whether a store is what was written into it: sums, answers, copies, hashes, readings. Reads only."""
