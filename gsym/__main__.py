"""`python -m gsym` is the `gsym` command."""

from gsym.cli.commands import gsym

if __name__ == "__main__":
    gsym()
