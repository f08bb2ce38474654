"""The samples: what each server came to, as a result file and as reports that people read."""

import gzip
from pathlib import Path

from wafermock.reports import compare, compare_markdown, html, markdown, result_file
from wafermock.reports.run import Run

# A result file has every request and answer that a finding shows: packed it is a tenth.
PACKED = ".json.gz"


def write(run: Run, name: str, folder: Path, *, with_html: bool = False) -> None:
    """Write the result file of a server (packed) and its report in Markdown; in HTML if wanted."""
    packed = gzip.compress(result_file.write(run), mtime=0)
    (folder / f"{name}{PACKED}").write_bytes(packed)
    (folder / f"{name}.md").write_text(markdown.render(run), "utf-8")
    if with_html:
        (folder / f"{name}.html").write_text(html.render(run), "utf-8")


def read(folder: Path) -> dict[str, Run]:
    """Read the result files of a folder, by the names of the servers."""
    paths = sorted(folder.glob(f"*{PACKED}"))
    return {
        path.name.removesuffix(PACKED): result_file.read(
            gzip.decompress(path.read_bytes()), str(path)
        )
        for path in paths
    }


def write_comparison(runs: dict[str, Run], folder: Path) -> None:
    """Write the matrix servers x rules."""
    named = [(f"{name} {run.settings['judged']['version']}", run) for name, run in runs.items()]
    if len(named) > 1:
        text = compare_markdown.render(compare.compare(named))
        (folder / "comparison.md").write_text(text, "utf-8")
