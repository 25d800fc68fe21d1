"""Who is ranked against whom: designs, candidates, samples, and what they imply."""
