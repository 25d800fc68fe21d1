"""User studies: what people are asked, what they answer, and what it says about systems."""
