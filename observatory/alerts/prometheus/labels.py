"""What Prometheus' labels are to our rules."""

WORKER = "instance"
"""what Prometheus calls what it scrapes: a worker"""
OF_WORKERS = frozenset({WORKER, "worker", "pod"})
"""labels that tell a worker from another"""
OF_CLUSTERS = frozenset({"cluster", "job", "namespace", "service", "container", "endpoint", "project"})
"""labels that are alike in all of a cluster, and that our series don't have: a rule says where it is asked"""
COUNTED = ("_total", "_count", "_sum", "_bucket")
"""how names of counters end"""
THREADS = "dask_worker_threads"
"""what Dask tells of a worker's threads, which rules know without it"""
