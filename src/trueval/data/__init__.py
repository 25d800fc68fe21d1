"""What happened: interaction logs, their ids, readers and data sets."""
