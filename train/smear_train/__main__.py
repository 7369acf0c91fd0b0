"""`python -m smear_train` is the program `smear`."""

import sys

from smear_train.cli import main

if __name__ == "__main__":
    sys.exit(main())
