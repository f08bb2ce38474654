"""Paths of requests: values for the parameters in them."""

from urllib.parse import quote

from wafermock.spec import Contract, Operation

from .values import Unmakeable, Values


def path_values(contract: Contract, operation: Operation, model: str) -> dict[str, str]:
    """Fill the parameters of an operation's path, percent-encoded: a model's is the given one.

    Raises Unmakeable for one that nobody knows a value for.
    """
    found = {}
    for parameter in operation.parameters:
        if parameter.place != "path":
            continue
        if "model" in parameter.name:
            found[parameter.name] = quote(model, safe="")
        elif parameter.schema is not None:
            value = Values(contract).least(parameter.schema.pointer, parameter.name)
            found[parameter.name] = quote(str(value), safe="")
        else:
            raise Unmakeable(f"a value for the path parameter {parameter.name}")
    return found
