"""Who is judged: the Recommender protocol, baselines, matrices and functions as systems."""
