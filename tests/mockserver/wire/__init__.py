"""What may happen to an answer on its way."""
