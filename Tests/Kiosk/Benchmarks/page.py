"""Writes the figures into the documentation."""

import re
from pathlib import Path

PAGE = Path(__file__).resolve().parents[3] / "deploy/docs/performance.md"


def write(sections: dict[str, str]) -> None:
    """Replaces the text between each pair of comments with the section of that name."""
    page = PAGE.read_text()
    for name, text in sections.items():
        pattern = rf"(<!-- {name} -->\n).*?(<!-- end -->)"
        page, count = re.subn(
            pattern, lambda match: f"{match[1]}\n{text}\n\n{match[2]}", page, flags=re.DOTALL
        )
        if count != 1:
            raise RuntimeError(f"{PAGE.name} has no place for {name}")
    PAGE.write_text(page)
