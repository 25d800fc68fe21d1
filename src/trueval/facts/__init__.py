"""What the ranking did: RankingFacts, the narrow waist between ranking and measuring."""
