"""Speed, as ratios measured in one run: nothing here passes or fails by the seconds of one machine."""
