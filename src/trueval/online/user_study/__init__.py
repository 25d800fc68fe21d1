"""What the answers of a user study say: rankings, choices between two lists, scales; and how many people it takes."""
