"""Station 1: files in, samples and jobs out; every row is accounted for."""
