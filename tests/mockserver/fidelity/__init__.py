"""The mock obeys every parameter: one test or more for each row of docs/fidelity.md."""
