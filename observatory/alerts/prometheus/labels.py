"""The meaning of Prometheus' labels for our rules."""

WORKER = "instance"
"""the label of a scraped process: a worker"""
OF_WORKERS = frozenset({WORKER, "worker", "pod"})
"""labels that identify a worker"""
OF_CLUSTERS = frozenset({"cluster", "job", "namespace", "service", "container", "endpoint", "project"})
"""labels of a whole cluster, which our series don't have: a rule's scope replaces them"""
COUNTED = ("_total", "_count", "_sum", "_bucket")
"""endings of counters' names"""
THREADS = "dask_worker_threads"
"""Dask's metric of a worker's threads, an attribute in our rules"""
