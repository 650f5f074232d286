"""Graphs, features, trained models, few-shot labels, training."""
