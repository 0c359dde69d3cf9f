"""What a straggler is: a task that takes much longer than is usual for its prefix, and costs time by it.

The marks of the task stream, the list of stragglers, the outliers and the finding take these limits. The
finding also knows first uses, slow and silent workers, and leaves out what they explain.
"""

RATIO = 2.0
"""times the median of the prefix"""
LEAST_EXCESS = 1.0
"""seconds above the median"""
FENCE = 3.0
"""interquartile ranges above the upper quartile (Tukey's outer fence)"""
FEWEST = 4
"""tasks of a prefix that say what is usual"""
