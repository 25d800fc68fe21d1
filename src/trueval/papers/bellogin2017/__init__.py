"""Bellogín, Castells and Cantador (2017): statistical biases in the evaluation of recommenders."""
