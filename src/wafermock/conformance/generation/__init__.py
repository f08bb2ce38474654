"""Requests and answers made from the contract: likely ones, ones at bounds, and invalid ones.

Nothing here is sent, and nothing here is random: a `Source` makes every choice.
"""
