"""Where runs are measured: on this machine, or on a Spark cluster."""
