"""Which paths are the control interface's. Asked of every request, so without an import."""

PREFIX = "/__wafermock__"
METRICS = "/metrics"


def is_control(path: str) -> bool:
    """Say whether a request path is the control interface's."""
    return path == PREFIX or path.startswith(PREFIX + "/")
