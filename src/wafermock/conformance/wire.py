"""What one exchange on the wire may take, and how it fails."""

import socket
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

from .endpoint import Endpoint


class Silence(Exception):
    """No answer came; `reason` says why, in a sentence for a report."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class Unreachable(Silence):
    """No connection could be made: nobody listens, or not with TLS that can be trusted."""


class NoAnswer(Silence):
    """A connection was made, and what came on it is no answer, or nothing came."""


@dataclass(frozen=True)
class Patience:
    """How long the judge waits, in seconds, and how many bytes of a body it reads.

    `first_byte` is counted from the request on, `between` from one arrival to the next, `whole`
    from the request to the end of the answer. `proceed` is how long a client waits for `100
    Continue` before it sends the body all the same (RFC 9110, section 10.1.1), `closing` how long
    for the end of a connection that the server said it would close.
    """

    connect: float = 10.0
    first_byte: float = 60.0
    between: float = 60.0
    whole: float = 300.0
    proceed: float = 1.0
    closing: float = 1.0
    body: int = 8 * 1024 * 1024

    def at_most(self, seconds: float | None) -> "Patience":
        """Return a patience that ends with what is left of a run; None: of that there is no end."""
        if seconds is None or seconds >= self.whole:
            return self
        left = max(seconds, 0.0)
        return replace(
            self,
            connect=min(self.connect, left),
            first_byte=min(self.first_byte, left),
            whole=left,
        )


@contextmanager
def reaching(endpoint: Endpoint, seconds: float) -> Iterator[None]:
    """Where a connection is being made: what fails there is Unreachable, with a reason that
    helps."""
    try:
        yield
    except OSError as fault:  # TimeoutError and ssl.SSLError are some of them
        raise Unreachable(_why(endpoint, fault, seconds)) from None


def _why(endpoint: Endpoint, fault: OSError, seconds: float) -> str:
    where = f"{endpoint.host}:{endpoint.port}"
    if isinstance(fault, ssl.SSLCertVerificationError):
        return (
            f"{where} shows a certificate that is not trusted: {fault.verify_message} "
            "(--ca-file FILE names who is trusted, --insecure trusts anybody)"
        )
    if isinstance(fault, ssl.SSLError):
        return f"{where} does not speak TLS: {fault.reason or fault}"
    if isinstance(fault, TimeoutError) and fault.errno is None:
        return f"{where} did not take a connection within {seconds:g} s"
    if isinstance(fault, ConnectionRefusedError):
        return f"nobody listens at {where}"
    if isinstance(fault, socket.gaierror):
        return f"the name {endpoint.host} is not known: {fault.strerror}"
    if isinstance(fault, ConnectionResetError | ConnectionAbortedError):
        return f"{where} closed the connection while TLS was being agreed on"
    return f"{where} cannot be reached: {fault.strerror or fault}"
