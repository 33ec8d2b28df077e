"""Events and explicit wishes in, candidates out; each is a file in the inbox until a person decides.

`promote.Promoter` makes them of events. It is not brought along here: a command that only shows candidates needs none
of its rules.
"""

from mdmem.candidates.candidate import Candidate, Doubt, Evidence

__all__ = ["Candidate", "Doubt", "Evidence"]
