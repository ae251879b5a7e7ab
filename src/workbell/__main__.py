"""`python -m workbell` is the same as `workbell`."""

from workbell.cli.main import main

if __name__ == "__main__":
    main()
