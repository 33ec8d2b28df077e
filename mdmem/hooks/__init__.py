"""What an agent's hook sent in, what it is answered out. Nothing here may hurt the agent."""
