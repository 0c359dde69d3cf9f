"""What the store's data says of rules: the one judgement, of the live evaluator and of the back-test.

`judge` gives the level of a rule over a window at each instant, `advance` makes alerts of it. Both depend
only on what has a time within the window, and bounded times before it: judging [a, b) and [b, c) one after
the other is the same as judging [a, c).
"""
