"""Is it better: paired comparisons of systems over common users."""
