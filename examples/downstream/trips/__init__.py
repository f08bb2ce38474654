"""An agent that knows the weather."""

from .agent import Agent, AsyncAgent

__all__ = ["Agent", "AsyncAgent"]
