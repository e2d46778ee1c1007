"""`python -m unmixnet` is the `unmixnet` command."""

from unmixnet.cli import main

main()
