"""Single charts of a cluster for frames of other sites, such as JupyterLab's extension for Dask."""
