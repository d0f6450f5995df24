"""Situation queries: binding, lowering, the order of evaluation, explain."""
