"""Station 2a: what stops a dataset when reasoning is not captured, and says so. Above leasing, whose holds it sets."""
