"""How likely it was that a judgement was seen at all: propensities and their sources."""
