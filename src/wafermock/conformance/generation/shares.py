"""In which share of the generated requests something is there. All in one place, to be tuned."""

# Of all requests, streamed ones: of those that can be.
STREAMED = 0.5
# What a chat is about; what is left of 1 is plain talk. They exclude each other.
TOOLS = 0.25
JSON_SCHEMA = 0.15
JSON_OBJECT = 0.05
PREDICTION = 0.05
# Every other parameter of the operation, each for itself; and of these, null ones.
PARAMETER = 0.15
NULL = 0.05
# The old name of the limit on what is written, in place of the new one.
OLD_LIMIT = 0.15
# Tools that are strict; a choice of a tool, where there are tools.
STRICT = 0.3
TOOL_CHOICE = 0.5
# Prompts of a completion that are no single text.
OTHER_PROMPT = 0.4
