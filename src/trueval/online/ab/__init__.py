"""A/B tests: was anybody lost on the way, what differs between the arms, by how much, and how sure is it."""
