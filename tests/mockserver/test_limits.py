"""Limits: buckets that give no more than they may, and the headers that say what is left."""

import json
import threading
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wafermock.mockserver.bucket import Bucket, Charge
from wafermock.mockserver.clock import SECOND, Clock
from wafermock.mockserver.limits import (
    Admission,
    Limiter,
    Limits,
    parse_limits,
    reservation,
)
from wafermock.mockserver.refusal import Refusal
from wafermock.spec import DocumentError, load_contract
from wafermock.spec.document import Document
from wafermock.spec.limits import LimitCatalogue

MINUTE = 60 * SECOND
LIMITS = load_contract().limits
QUOTAS, GENEROUS = LIMITS.quotas, LIMITS.unlimited
MODEL = "gpt-oss-120b"
SMALL = {"context": {"paid": 1000}, "max_completion_tokens": {"default": 300}}

# What happens to a bucket, request by request: how long after the one before it comes, how much it
# wants (it gets what is there), how many hundredths of it are used, and how many requests later
# that is known. Round figures make full and empty buckets likely, others the arithmetic odd.
REQUESTS = st.lists(
    st.tuples(
        st.sampled_from([0, 15, 30, 60]).map(lambda seconds: seconds * SECOND)
        | st.integers(0, 2 * MINUTE),
        st.sampled_from([25, 50, 100]) | st.integers(0, 100),
        st.sampled_from([0, 50, 100]) | st.integers(0, 100),
        st.integers(0, 4),
    ),
    max_size=20,
)


class _Played:
    """A bucket of 100 a minute that requests have been played on."""

    def __init__(self, requests: list[tuple[int, int, int, int]]) -> None:
        self.now = 0
        self.bucket = Bucket(100, 60, 0)
        self.charges: list[Charge] = []
        self.taken: list[list[int]] = []  # when, and how much of it counts
        for number, (gap, wanted, _, _) in enumerate(requests):
            self.now += gap
            amount = min(wanted, self.bucket.remaining(self.now))
            assert self.bucket.wait(amount, self.now) == 0
            self.charges.append(self.bucket.take(amount, self.now, reserved=True))
            self.taken.append([self.now, amount])
            for earlier, (_, _, hundredths, held) in enumerate(requests[: number + 1]):
                if earlier + held == number:
                    self._settle(earlier, hundredths)
            self._check()

    def _settle(self, number: int, hundredths: int) -> None:
        at, reserved = self.taken[number]
        used = reserved * hundredths // 100
        if self.now - at < MINUTE:
            self.taken[number][1] = used
        self.bucket.settle(self.charges[number], used, self.now)

    def _check(self) -> None:
        assert 0 <= self.bucket.remaining(self.now) <= 100

    def expected(self) -> Fraction:
        """The level, by all that was ever taken, as if each had known what it would use."""
        level, at = Fraction(100), 0
        for time, amount in self.taken:
            level = min(Fraction(100), level + Fraction(100 * (time - at), MINUTE)) - amount
            at = time
        return min(Fraction(100), level + Fraction(100 * (self.now - at), MINUTE))


class TestBucket:
    @given(REQUESTS)
    def test_it_gives_no_more_than_capacity_and_refill_in_any_window(self, requests: Any) -> None:
        taken = _Played(requests).taken
        for first in range(len(taken)):
            total = 0
            for time, amount in taken[first:]:
                total += amount
                assert total * MINUTE <= 100 * MINUTE + 100 * (time - taken[first][0])

    @given(REQUESTS)
    def test_its_level_is_as_if_use_had_been_known(self, requests: Any) -> None:
        played = _Played(requests)
        assert played.bucket.remaining(played.now) == int(played.expected())

    @given(REQUESTS, st.integers(1, 100))
    def test_the_wait_is_the_shortest_that_is_enough(self, requests: Any, amount: int) -> None:
        played = _Played(requests)
        wait = played.bucket.wait(amount, played.now)
        assert wait is not None
        if wait:
            assert played.bucket.wait(amount, played.now + wait - 1) == 1
        assert played.bucket.wait(amount, played.now + wait) == 0

    def test_what_overflowed_while_reserved_does_not_come_back(self) -> None:
        """Reserve all, use nothing: meanwhile the bucket must not have filled up a second time."""
        bucket = Bucket(100, 60, 0)
        unused = bucket.take(100, 0, reserved=True)
        bucket.take(50, MINUTE // 2)
        bucket.settle(unused, 0, MINUTE // 2)
        assert bucket.remaining(MINUTE // 2) == 50

    def test_it_refills_exactly(self) -> None:
        """A seventh of a minute a token would drift in floats; here, none is lost."""
        bucket = Bucket(7, 60, 0)
        bucket.take(7, 0)
        for step in range(1, 7000):
            bucket.remaining(step * MINUTE // 7000)
        assert bucket.remaining(MINUTE - 1) == 6
        assert bucket.until_full(MINUTE - 1) == 1
        assert bucket.remaining(MINUTE) == 7

    def test_more_than_was_reserved_overdraws(self) -> None:
        bucket = Bucket(100, 60, 0)
        charge = bucket.take(90, 0, reserved=True)
        bucket.settle(charge, 150, 0)
        assert bucket.remaining(0) == 0
        assert bucket.wait(0, 0) == MINUTE // 2
        assert bucket.remaining(MINUTE) == 50

    def test_only_the_first_settlement_counts(self) -> None:
        bucket = Bucket(100, 60, 0)
        charge = bucket.take(90, 0, reserved=True)
        bucket.settle(charge, 10, 0)
        bucket.settle(charge, 0, 0)
        assert bucket.remaining(0) == 90

    def test_a_reservation_older_than_the_period_is_past(self) -> None:
        bucket = Bucket(100, 60, 0)
        charge = bucket.take(90, 0, reserved=True)
        bucket.take(100, MINUTE)
        bucket.settle(charge, 0, MINUTE)
        assert bucket.remaining(MINUTE) == 0

    def test_a_clock_set_back_refills_nothing_and_goes_on(self) -> None:
        bucket = Bucket(60, 60, 1000 * SECOND)
        charge = bucket.take(60, 1000 * SECOND, reserved=True)
        assert bucket.remaining(10 * SECOND) == 0
        assert bucket.remaining(20 * SECOND) == 10
        bucket.settle(charge, 30, 20 * SECOND)
        assert bucket.remaining(20 * SECOND) == 40
        assert bucket.remaining(40 * SECOND) == 60

    def test_nothing_admits_nothing(self) -> None:
        bucket = Bucket(0, 60, 0)
        assert bucket.wait(1, 0) is None
        assert bucket.until_full(0) == 0

    def test_an_open_reservation_does_not_gather_all_that_follow(self) -> None:
        bucket = Bucket(10**6, 60, 0)
        bucket.take(1, 0, reserved=True)
        for _ in range(1000):
            bucket.settle(bucket.take(5, 0, reserved=True), 3, 0)
        assert len(bucket._charges) <= 3
        assert bucket.remaining(0) == 10**6 - 3001


def _limiter(*texts: str, **options: Any) -> tuple[Limiter, Clock]:
    clock = Clock("manual")
    return Limiter(parse_limits(texts), clock, **options), clock


def _refusal(
    limiter: Limiter, tokens: int = 1, account: str = "key", model: str = MODEL
) -> Refusal:
    with pytest.raises(Refusal) as raised:
        limiter.admit(account, model, tokens)
    return raised.value


class TestAdmission:
    @pytest.mark.parametrize("quota", QUOTAS, ids=lambda quota: quota.name)
    def test_each_limit_refuses_with_its_error_until_it_has_refilled(self, quota: Any) -> None:
        limiter, clock = _limiter(f"{quota.name}=2", retry_after=True)
        for _ in range(2):
            limiter.admit("key", MODEL, 1)
        refusal = _refusal(limiter)
        assert refusal.error == quota.error
        wait = quota.seconds // 2
        assert refusal.headers["retry-after"] == str(wait)
        assert refusal.headers["retry-after-ms"] == str(wait * 1000)
        clock.advance(wait - 0.001)
        _refusal(limiter)
        clock.advance(0.001)
        limiter.admit("key", MODEL, 1)
        _refusal(limiter)

    @pytest.mark.parametrize("profile", ["documented", "observed"])
    def test_the_errors_are_the_catalogues(self, profile: str) -> None:
        errors = load_contract(profile).errors
        for quota in QUOTAS:
            entry = errors[quota.error]
            assert (entry.status, entry.param) == (429, "quota")
            assert f"{quota.counted.title()} per {quota.period}" in entry.message

    def test_a_reservation_holds_until_it_is_settled(self) -> None:
        limiter, _ = _limiter("tpm=30K")
        first = limiter.admit("key", MODEL, 16_619)
        assert first.headers["x-ratelimit-remaining-tokens-minute"] == "13381"
        assert _refusal(limiter, 16_619).error == "token_quota_exceeded"
        first.settle(300)
        second = limiter.admit("key", MODEL, 16_619)
        assert second.headers["x-ratelimit-remaining-tokens-minute"] == "13081"

    def test_a_refused_request_takes_nothing(self) -> None:
        limiter, _ = _limiter("rpm=5,tpm=100")
        before = limiter.headers("key", MODEL)
        refusal = _refusal(limiter, 101)
        assert limiter.headers("key", MODEL) == before == refusal.headers

    def test_settling_twice_counts_once_and_requests_do_not_come_back(self) -> None:
        limiter, _ = _limiter("rpm=1,tpm=100")
        admission = limiter.admit("key", MODEL, 100)
        admission.settle(40)
        admission.settle(0)
        headers = limiter.headers("key", MODEL)
        assert headers["x-ratelimit-remaining-tokens-minute"] == "60"
        assert headers["x-ratelimit-remaining-requests-minute"] == "0"

    def test_accounts_and_models_are_apart(self) -> None:
        limiter, _ = _limiter("rpm=1", "zai-glm-4.7:rpm=2")
        limiter.admit("a", MODEL, 1)
        limiter.admit("b", MODEL, 1)
        limiter.admit("a", "zai-glm-4.7", 1)
        limiter.admit("a", "zai-glm-4.7", 1)
        assert _refusal(limiter, 1, "a").error == "request_quota_exceeded"
        assert _refusal(limiter, 1, "a", "zai-glm-4.7").error == "request_quota_exceeded"

    def test_what_never_fits_has_no_time_to_retry(self) -> None:
        limiter, _ = _limiter("rpm=1,tpm=100", retry_after=True)
        assert not {"retry-after", "retry-after-ms"} & set(_refusal(limiter, 101).headers)

    def test_the_time_to_retry_is_that_of_the_last_limit_and_rounded_up(self) -> None:
        limiter, clock = _limiter("rpm=7,rph=1", retry_after=True)
        limiter.admit("key", MODEL, 1)
        clock.advance(0.0001)
        refusal = _refusal(limiter)
        assert refusal.error == "requests_per_hour_exceeded"
        assert refusal.headers["retry-after"] == "3600"
        assert refusal.headers["retry-after-ms"] == "3600000"

    def test_no_time_to_retry_unless_wanted(self) -> None:
        limiter, _ = _limiter("rpm=0")
        assert "retry-after" not in _refusal(limiter).headers

    def test_concurrent_reservations_are_conserved(self) -> None:
        limiter, _ = _limiter("rpd=100K,tpd=1M")
        admitted: list[Admission] = []

        def ask() -> None:
            for _ in range(100):
                admission = limiter.admit("key", MODEL, 500)
                admitted.append(admission)
                admission.settle(7)

        threads = [threading.Thread(target=ask, daemon=True) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(30)
        headers = limiter.headers("key", MODEL)
        assert len(admitted) == 800
        assert headers["x-ratelimit-remaining-requests-day"] == str(100_000 - 800)
        assert headers["x-ratelimit-remaining-tokens-day"] == str(1_000_000 - 800 * 7)

    def test_full_accounts_are_forgotten_and_others_are_not(self) -> None:
        limiter, clock = _limiter("rpm=2,rpd=1M")
        limiter.admit("early", MODEL, 1)
        clock.advance(86400)
        limiter.admit("late", MODEL, 1)
        for number in range(3000):
            limiter.admit(f"other-{number}", MODEL, 1)
            clock.advance(0.1)
        assert len(limiter._accounts) < 2500
        assert ("early", MODEL) not in limiter._accounts
        limiter, _ = _limiter("rpm=1")
        for number in range(3000):
            limiter.admit(f"{number}", MODEL, 1)
        _refusal(limiter, 1, "0")

    @given(st.lists(st.tuples(st.integers(0, 40), st.integers(0, 20), st.booleans()), max_size=30))
    def test_remaining_falls_by_what_was_reserved(self, steps: list[tuple[int, int, bool]]) -> None:
        """While no time passes: an admission takes its own, a settlement gives back the rest."""
        limiter, _ = _limiter("rpm=1000,tpm=500")
        left, requests = 500, 1000
        for reserved, used, settled in steps:
            if reserved > left:
                assert _refusal(limiter, reserved).error == "token_quota_exceeded"
                continue
            admission = limiter.admit("key", MODEL, reserved)
            left, requests = left - reserved, requests - 1
            assert admission.headers["x-ratelimit-remaining-tokens-minute"] == str(left)
            assert admission.headers["x-ratelimit-remaining-requests-minute"] == str(requests)
            if settled:
                admission.settle(min(used, reserved))
                left += reserved - min(used, reserved)


class TestHeaders:
    def test_all_of_them_and_in_the_contracts_words(self) -> None:
        limiter, clock = _limiter("rpm=5,rph=150,rpd=2400,tpm=30K,tph=1M,tpd=1M")
        headers = limiter.admit("key", MODEL, 24).headers
        assert headers == {
            "x-ratelimit-limit-requests-minute": "5",
            "x-ratelimit-remaining-requests-minute": "4",
            "x-ratelimit-limit-requests-hour": "150",
            "x-ratelimit-remaining-requests-hour": "149",
            "x-ratelimit-limit-requests-day": "2400",
            "x-ratelimit-remaining-requests-day": "2399",
            "x-ratelimit-reset-requests-day": "36.0",
            "x-ratelimit-limit-tokens-minute": "30000",
            "x-ratelimit-remaining-tokens-minute": "29976",
            "x-ratelimit-reset-tokens-minute": "0.048",
            "x-ratelimit-limit-tokens-hour": "1000000",
            "x-ratelimit-remaining-tokens-hour": "999976",
            "x-ratelimit-limit-tokens-day": "1000000",
            "x-ratelimit-remaining-tokens-day": "999976",
        }
        declared = load_contract("documented").document["components"]["headers"]
        assert set(headers) == {name for name in declared if name.startswith("x-ratelimit-")}
        clock.advance(float(headers["x-ratelimit-reset-requests-day"]))
        full = limiter.headers("key", MODEL)
        assert full["x-ratelimit-remaining-requests-day"] == "2400"
        assert full["x-ratelimit-reset-requests-day"] == "0.0"

    @given(st.integers(0, 2_000_000))
    def test_without_limits_they_depend_on_the_request_alone(self, tokens: int) -> None:
        limiter, clock = _limiter()
        first = limiter.admit("key", MODEL, tokens)
        first.settle(0)
        clock.advance(1)
        again = limiter.admit("other", "unheard-of", tokens)
        assert first.headers == again.headers
        assert first.headers["x-ratelimit-limit-requests-day"] == str(GENEROUS)
        assert first.headers["x-ratelimit-remaining-requests-day"] == str(GENEROUS - 1)
        assert first.headers["x-ratelimit-remaining-tokens-minute"] == str(GENEROUS - tokens)
        assert not limiter._accounts

    def test_a_caller_may_add_to_them(self) -> None:
        limiter, _ = _limiter()
        limiter.admit("key", MODEL, 5).headers["x-more"] = "1"
        assert "x-more" not in limiter.admit("key", MODEL, 5).headers

    def test_what_has_no_limit_beside_what_has(self) -> None:
        limiter, _ = _limiter("rpm=5")
        headers = limiter.admit("key", MODEL, 10).headers
        assert headers["x-ratelimit-remaining-requests-minute"] == "4"
        assert headers["x-ratelimit-remaining-tokens-minute"] == str(GENEROUS - 10)

    @given(st.integers(1, 10**9), st.integers(1, 10**6), st.integers(1, 10**6))
    def test_resets_are_seconds_with_a_fraction(self, limit: int, tokens: int, rest: int) -> None:
        limiter, clock = _limiter(f"tpm={limit},rpd={rest}")
        headers = limiter.admit("key", MODEL, min(tokens, limit)).headers
        for name, value in headers.items():
            if "-reset-" in name:
                whole, point, fraction = value.partition(".")
                assert point
                assert whole.isdecimal()
                assert fraction.isdecimal()
        clock.advance(float(headers["x-ratelimit-reset-tokens-minute"]))
        left = limiter.headers("key", MODEL)["x-ratelimit-remaining-tokens-minute"]
        assert left == str(limit)


class TestReservation:
    @pytest.mark.parametrize(
        ("prompt", "asked", "answers", "reserved"),
        [
            (100, 50, 1, 150),
            (100, None, 1, 400),
            (100, -1, 1, 1000),
            (100, 0, 1, 100),
            (100, 50, 3, 250),
            (900, 500, 1, 1000),
            (900, None, 1, 1000),
            (2000, None, 1, 2000),
        ],
    )
    def test_it_is_the_most_a_request_may_use(
        self, prompt: int, asked: int | None, answers: int, reserved: int
    ) -> None:
        assert reservation(prompt, asked, SMALL, answers) == reserved

    def test_what_says_nothing_reserves_as_recorded(self) -> None:
        models = load_contract("documented").models
        for name in [*models, "unheard-of"]:
            assert reservation(235, None, models[name]) == 235 + 16_384


class TestOption:
    @pytest.mark.parametrize(
        ("texts", "limits"),
        [
            ([], Limits({}, {})),
            (["rpm=5,tpm=30000"], Limits({"rpm": 5, "tpm": 30000}, {})),
            (["rpm=5", "tpm=1"], Limits({"rpm": 5, "tpm": 1}, {})),
            ([" RPM = 5 , tph = 1M "], Limits({"rpm": 5, "tph": 1_000_000}, {})),
            (["rpd=14.4K"], Limits({"rpd": 14_400}, {})),
            (["rpm=0"], Limits({"rpm": 0}, {})),
            (["gpt-oss-120b:rpm=5"], Limits({}, {"gpt-oss-120b": {"rpm": 5}})),
            (["a:b:rpm=5,tpm=none"], Limits({}, {"a:b": {"rpm": 5, "tpm": None}})),
            (["m:rpm=1", "m:tpm=2"], Limits({}, {"m": {"rpm": 1, "tpm": 2}})),
        ],
    )
    def test_it_is_read(self, texts: list[str], limits: Limits) -> None:
        assert parse_limits(texts) == limits

    def test_a_model_has_its_own_and_the_rest_from_all(self) -> None:
        limits = parse_limits(["rpm=5,tpm=100,tpd=9", "m:rpm=7,tpm=none"])
        assert limits.of("m") == {"rpm": 7, "tpd": 9}
        assert limits.of("other") == {"rpm": 5, "tpm": 100, "tpd": 9}

    @pytest.mark.parametrize(
        ("texts", "sentence"),
        [
            (["rmp=5"], "there is no limit 'rmp'; did you mean rpm? (there are rpm, rph, rpd,"),
            (["5"], "there is no limit '5'"),
            ([""], "there is no limit ''"),
            (["rpm=5,"], "there is no limit ''"),
            (["rpm"], "'rpm' lacks its number; write it as rpm=5"),
            (["rpm5"], "'rpm5' lacks its number; write it as rpm=5"),
            (["rpm="], "'rpm=' lacks its number"),
            (["rpm:5"], "write rpm=5, with an equals sign"),
            (["rpm=-1"], "rpm=-1 is no limit; it can be a whole number from 0, as 30000, 30K"),
            (["rpm=1.5"], "rpm=1.5 is no limit"),
            (["rpm=nan"], "rpm=nan is no limit"),
            (["rpm=inf"], "rpm=inf is no limit"),
            (["rpm=K"], "rpm=K is no limit"),
            (["rpm=1e400"], "rpm=1e400 is no limit"),
            (["rpm=5,rpm=6"], "rpm is given twice"),
            (["m:rpm=5", "m:rpm=6"], "rpm is given twice for m"),
            (["rpm=5,m:tpm=6"], "a model's limits are a --limits of their own"),
            (["m:rpm=5,n:tpm=6"], "a model's limits are a --limits of their own"),
            (["rpm,m:tpm=6"], "a model's limits are a --limits of their own"),
            ([":rpm=5"], "a model stands before the colon"),
        ],
    )
    def test_faults_are_named(self, texts: list[str], sentence: str) -> None:
        with pytest.raises(ValueError, match=r"^--limits ") as raised:
            parse_limits(texts)
        assert sentence in str(raised.value)

    @given(st.lists(st.text("rpmthd=:,0519kM. \n", max_size=14), max_size=3))
    def test_anything_is_limits_or_a_sentence(self, texts: list[str]) -> None:
        try:
            limits = parse_limits(texts)
        except ValueError as error:
            complaint = str(error)
        else:
            for written in (limits.common, *limits.models.values()):
                assert set(written) <= {quota.name for quota in QUOTAS}
            return
        assert complaint.startswith("--limits ")


class TestCatalogue:
    def test_quotas_are_data(self) -> None:
        """Another quota, other headers: no code says which there are."""
        root = {
            "quotas": [
                {
                    "name": "rpw", "counted": "requests", "period": "week", "seconds": 604800,
                    "error": "request_quota_exceeded", "reset": True,
                },
            ],
            "headers": {kind: f"x-{kind}-{{period}}" for kind in ("limit", "remaining", "reset")},
            "unlimited": 7,
            "queue": {},
        }  # fmt: skip
        catalogue = LimitCatalogue(Document(Path("limits.yaml"), None, root))
        limiter = Limiter(parse_limits(["rpw=2"], catalogue), Clock("manual"))
        assert limiter.admit("key", MODEL, 5).headers == {
            "x-limit-week": "2", "x-remaining-week": "1", "x-reset-week": "302400.0"
        }  # fmt: skip
        limiter.admit("key", MODEL, 5)
        assert _refusal(limiter).error == "request_quota_exceeded"
        unlimited = Limiter(parse_limits([], catalogue), Clock("manual"))
        assert unlimited.headers("key", MODEL)["x-limit-week"] == "7"
        with pytest.raises(ValueError, match=r"there is no limit 'rpm'; did you mean rpw\?"):
            parse_limits(["rpm=1"], catalogue)

    def test_each_header_is_declared_and_each_error_is_there(self) -> None:
        contract = load_contract()
        declared = set(contract.document["components"]["headers"])
        for quota in contract.limits.quotas:
            assert quota.error in contract.errors
        headers = ((q.limit_header, q.remaining_header, q.reset_header) for q in QUOTAS)
        known = {header for three in headers for header in three if header}
        assert known == {name for name in declared if name.startswith("x-ratelimit-")}

    def test_a_limit_that_is_none_is_shown_as_the_page_shows_it(self) -> None:
        assert LIMITS.unlimited == 1_000_000_000

    @pytest.mark.parametrize(
        ("change", "says"),
        [
            (
                {"quotas": [{"name": "rpm", "counted": "requests"}]},
                "limits.yaml:1: #/quotas/0: not a quota: it lacks 'period'",
            ),
            (
                {"quotas": [{"counted": "tokens", "period": "day", "sceonds": 1}]},
                "limits.yaml:1: #/quotas/0: not a quota: ",
            ),
            ({"queue": {"header": "x"}}, "limits.yaml:1: #/queue: not a threshold: it lacks"),
            ({"queue": {"tiers": [], "hedaer": 1}}, "limits.yaml:1: #/queue: not a threshold: "),
        ],
    )
    def test_an_entry_that_cannot_be_read_is_told(self, change: Any, says: str) -> None:
        headers = {"limit": "x-limit-{counted}-{period}"}
        root = {"headers": headers, "unlimited": 1, "quotas": [], "queue": {}} | change
        catalogue = LimitCatalogue(Document(Path("limits.yaml"), json.dumps(root), root))
        with pytest.raises(DocumentError) as caught:
            _ = (catalogue.quotas, catalogue.queue)
        assert str(caught.value).startswith(says)
