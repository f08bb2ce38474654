"""What may be wrong with a base URL, told by a path that the contract has not."""

from wafermock.spec import Contract

# So many segments may stand in front of a path; a longer one is nobody's base URL.
_MOST = 8


def hint(contract: Contract, path: str) -> str:
    """Say what in the base URL leads to a path that the contract has not; empty: nothing known.

    Most clients put `/chat/completions` behind a base URL that has the `/v1`, some put
    `/v1/chat/completions` behind one that has not, and each is given the other's now and then.
    """
    roots = {f"/{operation.path.split('/')[1]}" for operation in contract.operations}
    root = roots.pop()
    if not roots and contract.methods(root + path):  # one that all paths begin with
        return f"there is {root}{path}: is {root} missing in the base URL?"
    segments = path.split("/")
    for count in range(2, min(len(segments), _MOST)):
        behind = "/".join(["", *segments[count:]])
        if contract.methods(behind):
            front = "/".join(segments[:count])
            return f"there is {behind}: is {front} too much in the base URL?"
    if path.endswith("/") and contract.methods(path.rstrip("/")):
        return f"there is {path.rstrip('/')}: is the slash at the end too much?"
    return ""
