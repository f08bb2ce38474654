"""The endpoint that is judged: one host, and nobody else is ever spoken to."""

import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import SplitResult, urljoin, urlsplit

from .exchange import Received

# The key that is sent to a server of this machine when none is named: mocks want one, any.
ANY_KEY = "any"
_LOOPBACK = ("localhost", "127.0.0.1", "::1")
_PORTS = {"http": 80, "https": 443}
_HTTPS_AND = "an endpoint looks like `https://host` or `http://127.0.0.1:4010/base`"


def key_of(endpoint: "Endpoint", name: str | None, environ: Mapping[str, str]) -> str | None:
    """Return the key in the environment variable `name`. Where none is named: a made-up one for a
    server of this machine, and none for any other. Raises EndpointError where there is no key."""
    if name is None:
        return ANY_KEY if endpoint.host in _LOOPBACK else None
    key = environ.get(name, "").strip()
    if not key:
        raise EndpointError(
            f"--api-key-env {name}: the environment has no such variable, or it is empty"
        )
    return key


class EndpointError(ValueError):
    """A base URL, or a file of certificates, that cannot be used; the message says what to do."""


@dataclass(frozen=True)
class Endpoint:
    """Where requests go. `base_path` stands before every path of the contract; those begin with
    `/v1`, so that a base URL that ends in `/v1` is the same as one that does not.

    `insecure` trusts whoever answers; `ca_file` (PEM) is trusted in place of the system's list.
    """

    scheme: str
    host: str
    port: int
    base_path: str = ""
    insecure: bool = False
    ca_file: str | None = None

    @classmethod
    def at(cls, url: str, *, insecure: bool = False, ca_file: str | None = None) -> "Endpoint":
        """Read a base URL. Raises EndpointError."""
        parts = _split(url)
        path = parts.path.rstrip("/")
        if path.endswith("/completions"):  # of chats too
            base = path.removesuffix("/completions").removesuffix("/chat").removesuffix("/v1")
            short = f"{parts.scheme}://{parts.netloc}{base}"
            raise EndpointError(f"{url!r} is where one operation is; name the base URL, as {short}")
        host = _ascii(parts.hostname or "", url)
        base = path.removesuffix("/v1").rstrip("/")
        port = parts.port if parts.port is not None else _PORTS[parts.scheme]
        endpoint = cls(parts.scheme, host, port, base, insecure, ca_file)
        if parts.scheme == "http" and (insecure or ca_file):
            raise EndpointError(f"{endpoint.url} has no certificates to be checked: it is http")
        return endpoint

    @property
    def authority(self) -> str:
        """Host and port as `Host` says them (RFC 9110, section 7.2): a default port is not said."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == _PORTS[self.scheme] else f"{host}:{self.port}"

    @property
    def url(self) -> str:
        """The base URL, without a slash at its end: a target is put behind it as it is."""
        return f"{self.scheme}://{self.authority}{self.base_path}"

    def tls(self, *protocols: str) -> ssl.SSLContext | None:
        """Make what TLS needs; `protocols` are offered by ALPN. None: the endpoint is http.

        Raises EndpointError where the file of certificates cannot be used.
        """
        if self.scheme == "http":
            return None
        try:
            context = ssl.create_default_context(cafile=self.ca_file)
        except OSError as fault:
            name = Path(self.ca_file or "").name
            is_ssl = isinstance(fault, ssl.SSLError)
            reason = "it holds no certificate in PEM" if is_ssl else fault.strerror
            raise EndpointError(f"{name}: certificates cannot be read: {reason}") from None
        if self.insecure:
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        context.set_alpn_protocols(list(protocols))
        return context

    def elsewhere(self, received: Received, target: str) -> str:
        """Say where a redirect leads that was not followed; empty where there is none, or where it
        stays with the host. (Redirects are never followed: they are answers to be judged.)"""
        location = received.header("location")
        if not 300 <= received.status < 400 or location is None:
            return ""
        try:
            there = urlsplit(urljoin(self.url + target, location))
            same = (there.hostname, there.port or _PORTS.get(there.scheme)) == (
                self.host,
                self.port,
            )
        except ValueError:
            return f"a redirect ({received.status}) whose Location is no URL was not followed"
        if same and there.scheme == self.scheme:
            return ""
        where = f"{there.scheme}://{there.netloc.rpartition('@')[2]}"
        return f"a redirect ({received.status}) to another host, {where}, was not followed"


def _split(url: str) -> SplitResult:
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError as fault:
        raise EndpointError(f"no base URL: {fault}; {_HTTPS_AND}") from None
    if parts.username is not None or parts.password is not None:
        raise EndpointError(
            "a base URL with user or password would be shown in reports; give the key by its "
            "environment variable (--api-key-env), or a header"
        )
    if parts.scheme not in _PORTS:
        raise EndpointError(f"{_shown(url)} is neither http:// nor https://; {_HTTPS_AND}")
    if not parts.hostname:
        raise EndpointError(f"{_shown(url)} names no host; {_HTTPS_AND}")
    if parts.port == 0:
        raise EndpointError(f"{_shown(url)}: port 0 is nobody's; {_HTTPS_AND}")
    if parts.query or parts.fragment:
        raise EndpointError("a base URL has no query and no fragment; " + _HTTPS_AND)
    if any(not "!" <= sign <= "~" for sign in parts.path):
        raise EndpointError("the path of a base URL is written percent-encoded; " + _HTTPS_AND)
    return parts


def _shown(url: str) -> str:
    """Show a URL in an error, without what may be a secret in it."""
    return repr(url.partition("?")[0].partition("#")[0][:200])


def _ascii(host: str, url: str) -> str:
    if host.isascii():
        if any(not "!" <= sign <= "~" for sign in host):
            raise EndpointError(f"{_shown(url)}: {host!r} is no name of a host")
        return host
    try:
        return host.encode("idna").decode("ascii")
    except UnicodeError:
        raise EndpointError(f"{_shown(url)}: {host!r} is no name of a host") from None
