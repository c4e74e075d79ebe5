"""Tables of figures on the command line."""

from rich.console import Console
from rich.table import Table


def print_whole(console: Console, table: Table) -> None:
    """Print a table at its own width: a figure or a name that is cut is worse than a line that a narrow window wraps."""
    wide = Console(
        file=console.file, width=1000, force_terminal=console.is_terminal, no_color=console.no_color, highlight=False
    )
    wide.print(table, crop=False, soft_wrap=True)
