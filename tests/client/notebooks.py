"""Executes cells of a real notebook in a kernel of its own."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import nbformat
from ipykernel.kernelspec import install as install_kernel
from nbclient import NotebookClient

Output = dict[str, Any]


def execute(folder: Path, *cells: str, **variables: str) -> list[list[Output]]:
    """The outputs of each cell. Raises CellExecutionError. The kernel runs this Python, in `folder`."""
    install_kernel(user=False, prefix=str(folder), kernel_name="observatory-tests")
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(path for path in sys.path if path),
        "IPYTHONDIR": f"{folder}/ipython",
        **variables,
    }
    client = NotebookClient(
        notebook, timeout=300, kernel_name="observatory-tests", resources={"metadata": {"path": str(folder)}}
    )
    client.km = client.create_kernel_manager()
    client.km.kernel_spec_manager.kernel_dirs.insert(0, f"{folder}/share/jupyter/kernels")
    client.execute(env=environment)
    return [cell["outputs"] for cell in notebook["cells"]]
