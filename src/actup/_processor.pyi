"""Written by `make stubs`."""

def level() -> str:
    """The x86-64 level of this processor, or "generic" on others."""
