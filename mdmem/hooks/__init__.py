"""What an agent's hook sent in, what it is answered out. Nothing here may hurt the agent."""

from mdmem.hooks.answer import Hooks
from mdmem.hooks.payload import Call

__all__ = ["Call", "Hooks"]
