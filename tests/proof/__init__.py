"""The proof that the judge says what is true: every rule is broken by the mock on purpose, and the
mock that keeps the contract breaks none.

`make prove` runs all of it; the tests in this folder run a share. What was found is kept in
`table.yaml`, of which docs/proof.md and docs/rules.md are made.
"""
