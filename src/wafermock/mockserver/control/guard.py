"""Who may use the control interface.

It shows what clients sent and moves the clock under them, so it is for the person at this machine.
Two strangers could reach it all the same:

- Another machine, when the server listens on more than loopback, or a proxy on this machine passes
  on what comes from outside. The address of the peer, and the headers that proxies add, tell.
- A web page in this person's browser, which can send requests to 127.0.0.1 as well as to anywhere
  else. A page cannot read another origin's answers, but a request alone may reset or drop things
  (cross-site request forgery), and a page whose own name resolves to 127.0.0.1 counts as the same
  origin and can read them too (DNS rebinding). A browser cannot be made to lie in `Host`, `Origin`
  and `Sec-Fetch-Site`: with rebinding `Host` names the attacker's site, with forgery `Origin` or
  `Sec-Fetch-Site` does. Programs send no `Origin`, and are trusted as the person who runs them.
"""

import ipaddress
import re
from collections.abc import Collection, Mapping

from msgspec import Struct

# What proxies add (RFC 7239, and the customs before it).
_FORWARDED = ("forwarded", "x-forwarded-for", "x-forwarded-host", "x-real-ip", "via")


def allowed(remote: str | None) -> bool:
    """Say whether a peer's address is this machine's loopback."""
    try:
        address = ipaddress.ip_address((remote or "").partition("%")[0])
    except ValueError:
        return False
    mapped = getattr(address, "ipv4_mapped", None)
    return bool((mapped or address).is_loopback)


class Guard(Struct, frozen=True):
    """Lets requests pass, or says why not.

    `anywhere`: other machines may ask too. Then a request's `Host` may be an IP address or a name
    without a dot (`mock` in a network of containers): neither can be rebound by a stranger, who
    needs a name of their own. `hosts` are further names that may be asked by.
    """

    anywhere: bool = False
    hosts: Collection[str] = ()

    def refusal(
        self, remote: str | None, headers: Mapping[str, str], *, opens_page: bool = False
    ) -> str | None:
        """Return why a request may not pass, in a sentence; None: it may.

        `headers` have lower-case names. `opens_page`: the request does no more than to open the
        page, which may follow a link from anywhere; it holds no data and cannot be framed.
        """
        if not self.anywhere:
            if not allowed(remote):
                return (
                    "the control interface answers this machine only; "
                    "start the server with --control anywhere to open it to others"
                )
            if any(name in headers for name in _FORWARDED):
                return (
                    "a proxy has passed this request on, so it may come from another machine; "
                    "start the server with --control anywhere to allow that"
                )
        host = headers.get("host", "").strip().lower()
        if not self._is_known(_name_of(host)):
            return (
                f"the Host {host!r} is not a name of this server, as in a DNS rebinding attack; "
                "ask by 127.0.0.1 or localhost"
            )
        origin = headers.get("origin")
        if origin is not None and origin.strip().lower() not in (
            f"http://{host}",
            f"https://{host}",
        ):
            return f"a page of {origin} may not use the control interface"
        site = headers.get("sec-fetch-site", "none").strip().lower()
        if site in ("none", "same-origin"):
            return None
        if opens_page and headers.get("sec-fetch-mode") == "navigate":
            return None
        return "a page of another site may not use the control interface"

    def _is_known(self, name: str) -> bool:
        if name == "localhost" or name.endswith(".localhost") or name in self.hosts:
            return True
        try:
            address = ipaddress.ip_address(name)
        except ValueError:
            return self.anywhere and bool(_LABEL.fullmatch(name))
        return self.anywhere or address.is_loopback


_LABEL = re.compile(r"[a-z0-9](?:[a-z0-9_-]{0,61}[a-z0-9])?")


def _name_of(host: str) -> str:
    """Return the name in a `Host`, without its port and brackets."""
    if host.startswith("["):
        return host[1:].partition("]")[0]
    return host.partition(":")[0].rstrip(".")
