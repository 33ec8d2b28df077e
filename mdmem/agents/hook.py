"""A hook of an agent: what it sent on stdin in, what the agent takes out. To be written next."""


def main(args: list[str]) -> int:
    del args
    return 0
