"""An implementation of the contract that invents its answers."""
