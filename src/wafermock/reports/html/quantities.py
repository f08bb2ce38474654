"""Numbers and times as people read them."""


def number(value: float) -> str:
    """Return a number with separators between the thousands."""
    return f"{value:,}" if isinstance(value, int) else f"{value:,.6g}"


def seconds(value: float) -> str:
    """Return a time of seconds in the unit that fits: `0.4 ms`, `81 ms`, `1.25 s`, `6 min 53 s`."""
    thousandths = value * 1000
    if thousandths < 10:
        return f"{thousandths:.2g} ms"
    if thousandths < 999.5:
        return f"{thousandths:.0f} ms"
    if value < 59.95:
        return f"{value:.3g} s"
    return f"{int(value) // 60:,} min {int(value) % 60} s"
