"""What live traffic says: A/B tests, and estimates for a policy from another policy's log."""
