"""A mock of another service. A folder of this project with the name of a room of Wafermock."""

OWNER = "trips"
