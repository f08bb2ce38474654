"""Recording: a proxy that passes on, and writes a script that answers as the upstream did.

`proxy` passes on (the edge), `recorder` keeps what passed: without secrets (`redaction`), as rules
(`rule`) of a script (`script_file`) that know a request again by what it means (`meaning`).
`replay` asks the recorded rules of a script for an answer.
"""
