"""Station 4: how far a run is. Counts, rates and ETA from counters and minute buckets, sample lists, and one sample."""
