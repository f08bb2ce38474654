"""The control interface: what a bench has seen, and the levers to move it while it runs."""
