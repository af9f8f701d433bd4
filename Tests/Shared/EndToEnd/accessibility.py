"""What axe-core, a checker of accessibility, objects to on a page as a browser shows it."""

import functools
import subprocess
from pathlib import Path

from dashboard import Browser
from kiosk import ROOT


@functools.cache
def script() -> str | None:
    """`None`: it cannot be downloaded here."""
    done = subprocess.run([ROOT / "deploy/install-axe"], text=True, stdout=subprocess.PIPE)
    return Path(done.stdout.strip()).read_text() if done.returncode == 0 else None


RUN = """
    const done = arguments[arguments.length - 1];
    axe.run(document, {resultTypes: ["violations", "incomplete"], preload: false}).then(
        (result) => done({
            rules: [...result.passes, ...result.violations, ...result.incomplete].map((r) => r.id),
            findings: [...result.violations, ...result.incomplete].flatMap((rule) =>
                rule.nodes.map((node) => `${rule.id}: ${node.html.slice(0, 160)}: `
                    + [...node.any, ...node.all, ...node.none].map((c) => c.message).join("; "))),
        }),
        (error) => done({rules: [], findings: [String(error)]}));
"""


# It does not judge the contrast of a sign that is no letter: the − and + of the steppers, in the colour
# of the text around them.
UNDECIDED = "Element content contains only non-text characters"


def findings(browser: Browser) -> list[str]:
    """What breaks a rule, and what the checker cannot decide; each with the element."""
    browser.driver.execute_script(script())
    # As one screen: it does not look below what stays at the top while a page is scrolled.
    browser.resize(browser.ask("return document.documentElement.scrollHeight"))
    result = browser.driver.execute_async_script(RUN)
    browser.resize(browser.height)
    # A checker that has looked at nothing finds nothing.
    assert {"color-contrast", "document-title", "html-has-lang"} <= set(result["rules"]), result
    return [finding for finding in result["findings"] if not finding.endswith(UNDECIDED)]
