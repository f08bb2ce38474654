"""Tests of the contract: documents, overlays, schemas, and the commands that show them."""
