"""Workloads written from descriptions of causes alone, before their writer had read the detectors.

`digests.txt` was committed with them, before they were judged for the first time.
"""
