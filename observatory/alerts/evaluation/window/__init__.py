"""Evaluates a rule over a window of stored data, for the live evaluator and for back-tests alike.

`evaluate_rule` returns where a rule is true, `advance` turns that into alerts. Both depend only on data with
a time in the window, or a bounded time before it. So evaluating [a, b) and then [b, c) gives the same result
as evaluating [a, c).
"""
