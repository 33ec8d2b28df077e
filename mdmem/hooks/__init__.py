"""What an agent's hook sent in, what it is answered out. Nothing here may hurt the agent."""

from mdmem.hooks.answer import Hooks

__all__ = ["Hooks"]
