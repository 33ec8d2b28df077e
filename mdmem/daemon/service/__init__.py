"""The daemon under a service manager: `install` and `checks` for commands, `notify` for the daemon. As the daemon must
not carry what commands need, nothing is imported here.
"""
