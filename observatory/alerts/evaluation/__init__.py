"""Evaluates rules: continuously over live clusters (evaluator.py), and over past windows (back_test.py)."""
