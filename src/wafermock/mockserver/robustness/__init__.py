"""How a client stands what a real service does to it: what to try, and what to say of it.

`trials` are deliveries and failures to be tried one by one, `tries` are what the client did, as the
journal has it, and `verdict` judges it.
"""

from .trials import Trial, delivery_trial, delivery_trials, failure_trial, failure_trials
from .tries import Outcome, Try
from .verdict import Fault, Limits, Verdict, judge
from .watch import Watch, verdict, verdicts, watch

__all__ = [
    "Fault",
    "Limits",
    "Outcome",
    "Trial",
    "Try",
    "Verdict",
    "Watch",
    "delivery_trial",
    "delivery_trials",
    "failure_trial",
    "failure_trials",
    "judge",
    "verdict",
    "verdicts",
    "watch",
]
