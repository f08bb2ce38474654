"""Wafermock: a test bench for the Cerebras inference API."""

__version__ = "0.1.0"
