"""Plotly figures of runs. They need plotly."""
