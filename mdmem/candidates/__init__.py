"""Events and explicit wishes in, candidates out; each is a file in the inbox until a person decides."""
