"""The report for people: one HTML file that opens from disk and needs nothing else."""

from .render import render

__all__ = ["render"]
