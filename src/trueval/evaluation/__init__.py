"""With what certainty: per-user values, estimates with intervals, evaluations of systems and of runs."""
