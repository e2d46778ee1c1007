"""What is in the air, in which proportions, and by which physical process."""

__version__ = "0.1.0.dev0"
