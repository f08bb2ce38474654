"""Text that reads like what a property's name promises; Faker's English provides the words."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from .draws import Draws

if TYPE_CHECKING:
    from faker import Generator

_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_local = threading.local()

# The last words of a name, and the provider's method that writes such a thing. The first that
# fits wins; `_` joins words.
KINDS: tuple[tuple[str, str], ...] = (
    ("email mail e_mail email_address", "email"),
    ("first_name given_name forename firstname", "first_name"),
    ("last_name family_name surname lastname", "last_name"),
    ("user_name username login handle nickname screen_name user_id", "user_name"),
    ("company_name company organization organisation employer vendor brand manufacturer",
     "company"),
    ("product_name product item_name project_name app_name service_name team_name", "product"),
    ("host_name hostname host domain domain_name server fqdn", "domain_name"),
    ("file_name filename file path file_path filepath", "file_name"),
    ("full_name customer_name author_name name author person owner customer contact recipient "
     "sender assignee reviewer manager employee patient student teacher candidate user "
     "display_name speaker attendee", "name"),
    ("phone phone_number telephone mobile fax tel cell", "phone"),
    ("street street_address address_line line1 address1", "street_address"),
    ("line2 address2", "secondary_address"),
    ("address", "address"),
    ("location place destination origin venue", "place"),
    ("city town municipality locality", "city"),
    ("country_code", "country_code"),
    ("country nation nationality country_name", "country"),
    ("state_code", "state_abbr"),
    ("state province region county", "state"),
    ("zip zip_code zipcode postal_code postcode postal", "postcode"),
    ("job job_title occupation profession position role_title", "job"),
    ("url uri link website homepage href site webpage", "url"),
    ("currency currency_code", "currency"),
    ("color colour", "color_name"),
    ("hex_color hex", "hex_color"),
    ("language lang locale language_code", "language_code"),
    ("timezone time_zone tz", "timezone"),
    ("ip ip_address ipv4", "ipv4"),
    ("ipv6", "ipv6"),
    ("mac mac_address", "mac_address"),
    ("iban", "iban"),
    ("isbn", "isbn"),
    ("uuid guid", "uuid"),
    ("id identifier key sku code token reference ref", "identifier"),
    ("date day birthday dob birth_date due_date start_date end_date", "date"),
    ("time hour", "time"),
    ("datetime timestamp created_at updated_at at", "date_time"),
    ("version", "version"),
    ("mime_type content_type media_type", "mime_type"),
    ("tag tags keyword keywords category label slug genre topic type kind status unit", "word"),
    ("title headline subject heading summary_title", "title"),
    ("description summary content text body message comment bio reason explanation answer "
     "response note notes details abstract question instructions analysis reasoning thought "
     "justification rationale review feedback observation conclusion step", "sentence"),
)  # fmt: skip


@lru_cache(maxsize=1)
def _kinds() -> dict[str, str]:
    return {word: kind for words, kind in reversed(KINDS) for word in words.split()}


@lru_cache(maxsize=8192)
def words_of(name: str) -> tuple[str, ...]:
    """A name's words in lower case: `shippingAddress` and `shipping-address` alike."""
    return tuple(word.lower() for word in _WORD.findall(name))


@lru_cache(maxsize=8192)
def kind_of(name: str) -> str | None:
    """What a property of this name holds, by its last words; None where the name says nothing."""
    words = words_of(name)
    kinds = _kinds()
    for start in range(max(0, len(words) - 3), len(words)):
        found = kinds.get("_".join(words[start:]))
        if found:
            return found
    if words and words[-1].endswith("s"):
        return kinds.get("_".join([*words[:-1], words[-1][:-1]])) or kinds.get(words[-1][:-1])
    return None


class Vocabulary:
    """Faker, seeded once for an instance and only if it is asked."""

    def __init__(self, draws: Draws) -> None:
        self._draws = draws
        self._seed = draws.between(0, (1 << 48) - 1)
        self._faker: Any = None

    @property
    def faker(self) -> Any:
        """The generator, with the providers used here and the seed of this instance."""
        if self._faker is None:
            generator = getattr(_local, "generator", None)
            if generator is None:
                generator = _local.generator = _generator()
            generator.seed_instance(self._seed)
            self._faker = generator
        return self._faker

    def text(self, name: str, title: str) -> str:
        """A text for a property called `name` of a schema titled `title`."""
        kind = kind_of(name) or kind_of(title) or "phrase"
        own: Callable[[], str] | None = getattr(self, f"_{kind}", None)
        return own() if own else str(getattr(self.faker, kind)())

    def word(self) -> str:
        """One word."""
        return str(self.faker.word())

    def phrase(self, words: int) -> str:
        """Some words."""
        return " ".join(self.faker.words(words))

    def sentence(self) -> str:
        """A sentence of natural length."""
        return str(self.faker.sentence(nb_words=8))

    def _phrase(self) -> str:
        return self.phrase(self._draws.between(1, 3))

    def _word(self) -> str:
        return self.word()

    def _sentence(self) -> str:
        return self.sentence()

    def _title(self) -> str:
        return self.phrase(self._draws.between(2, 4)).title()

    def _product(self) -> str:
        return self.phrase(2).title()

    def _name(self) -> str:
        return f"{self.faker.first_name()} {self.faker.last_name()}"

    def _place(self) -> str:
        return f"{self.faker.city()}, {self.faker.state_abbr()}"

    def _phone(self) -> str:
        drawn = self._draws.between(1000, 9999)
        return f"+1-{self._draws.between(201, 989)}-555-{drawn}"

    def _address(self) -> str:
        return str(self.faker.address()).replace("\n", ", ")

    def _file_name(self) -> str:
        return f"{self.word()}.{self._draws.pick(('txt', 'json', 'csv', 'md'))}"

    def _language_code(self) -> str:
        return self._draws.pick(("en", "de", "fr", "es", "it", "pt", "nl", "pl", "ja"))

    def _timezone(self) -> str:
        return self._draws.pick(
            ("UTC", "Europe/Berlin", "America/New_York", "Asia/Tokyo", "Europe/London")
        )

    def _currency(self) -> str:
        return self._draws.pick(("USD", "EUR", "GBP", "JPY", "CHF", "CAD"))

    def _mime_type(self) -> str:
        return self._draws.pick(("application/json", "text/plain", "text/html", "image/png"))

    def _version(self) -> str:
        return ".".join(str(self._draws.between(0, 9)) for _ in range(3))

    def _identifier(self) -> str:
        letters = "".join(self._draws.pick("abcdefghjkmnpqrstuvwxyz23456789") for _ in range(8))
        return f"{self.word()}-{letters}"

    def _formatted(self, name: str) -> str:
        from .formats import FORMATS

        return FORMATS[name](self._draws, self)

    def _date(self) -> str:
        return self._formatted("date")

    def _time(self) -> str:
        return self._formatted("time")

    def _date_time(self) -> str:
        return self._formatted("date-time")

    def _uuid(self) -> str:
        return self._formatted("uuid")

    def _ipv4(self) -> str:
        return self._formatted("ipv4")

    def _ipv6(self) -> str:
        return self._formatted("ipv6")

    def _url(self) -> str:
        return self._formatted("uri")


def _generator() -> Generator:
    """Faker with the English providers that are used here, and no others: they load fast."""
    from faker import Generator
    from faker.providers.address.en_US import Provider as Address
    from faker.providers.bank.en_GB import Provider as Bank
    from faker.providers.color.en_US import Provider as Color
    from faker.providers.company.en_US import Provider as Company
    from faker.providers.internet.en_US import Provider as Internet
    from faker.providers.isbn.en_US import Provider as Isbn
    from faker.providers.job.en_US import Provider as Job
    from faker.providers.lorem.en_US import Provider as Lorem
    from faker.providers.person.en_US import Provider as Person

    generator = Generator()
    for provider in (Address, Bank, Color, Company, Internet, Isbn, Job, Lorem, Person):
        generator.add_provider(provider(generator))
    return generator
