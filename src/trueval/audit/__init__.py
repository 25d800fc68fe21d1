"""Measurements of what can make an evaluation misleading, and the audit that uses them."""
