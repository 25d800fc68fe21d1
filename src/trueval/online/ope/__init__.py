"""Off-policy estimates: what another policy would have earned, from the log of the one that was live."""
