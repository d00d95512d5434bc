"""Where the points of a map start."""
