"""Mena-Maldonado et al. (2020): agreement and disagreement between true and false-positive metrics."""
