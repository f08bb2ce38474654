"""Scripts: rules, what they match, what they answer."""
