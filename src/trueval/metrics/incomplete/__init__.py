"""Incomplete judgements: accuracy where most items were never judged."""
