"""A judge of implementations of the contract."""
