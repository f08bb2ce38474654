"""The mock inside a Python process: a server in a thread, spaces, expectations, calls.

Everything here stands on the parts of the server that listens on a port: rules are rules of a
script, calls are those of the journal, held streams those of the control.
"""
