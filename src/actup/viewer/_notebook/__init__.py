"""Pages in notebooks: in a frame, and as a widget whose selection comes back to Python."""
