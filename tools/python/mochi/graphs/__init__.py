"""Graphs, their features, trained models, labels from a few, training."""
