"""Top-k accuracy: are the relevant items near the top?"""
