"""Every figure, one file each, and their captions; each draws stored results or what little it needs to compute."""
