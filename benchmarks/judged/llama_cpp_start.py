"""Makes the tiny model and runs llama.cpp's server on it: MAKER MODEL PORT KEY.

Runs in the environment of that server.
"""

import signal
import subprocess
import sys

import xllamacpp  # type: ignore[import-not-found]

MAKER, MODEL, PORT, KEY = sys.argv[1:]

subprocess.run([sys.executable, MAKER, MODEL], check=True)
params = xllamacpp.CommonParams()
params.model.path = MODEL
params.model_alias = {"tiny"}
params.hostnames = ["127.0.0.1"]
params.port = int(PORT)
params.api_keys = [KEY]
params.n_ctx = 8192
params.n_parallel = 4
params.cpuparams.n_threads = 1
params.use_jinja = True
server = xllamacpp.Server(params)
print("listening on", server.listening_address, flush=True)
signal.sigwait({signal.SIGTERM, signal.SIGINT})
