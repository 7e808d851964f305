"""``python -m mgae`` is ``mgae``."""

from mgae.cli.app import main

main()
