"""Checks a page, as a browser shows it, with the accessibility checker axe-core."""

import functools
import subprocess
from pathlib import Path

from dashboard import Browser
from kiosk import ROOT


@functools.cache
def script() -> str | None:
    """Returns axe-core's script, or `None` if it cannot be downloaded."""
    done = subprocess.run([ROOT / "deploy/install-axe"], text=True, stdout=subprocess.PIPE)
    return Path(done.stdout.strip()).read_text() if done.returncode == 0 else None


# axe-core examines an element after the other. It begins again if a live update has replaced some of them.
RUN = """
    const done = arguments[arguments.length - 1];
    let changes = 0;
    new MutationObserver(() => { changes += 1; }).observe(document.body, {childList: true, subtree: true});
    const examine = (before) => axe.run(document, {resultTypes: ["violations", "incomplete"], preload: false}).then(
        (result) => changes > before ? examine(changes) : done({
            rules: [...result.passes, ...result.violations, ...result.incomplete].map((r) => r.id),
            findings: [...result.violations, ...result.incomplete].flatMap((rule) =>
                rule.nodes.map((node) => `${rule.id}: ${node.html.slice(0, 160)}: `
                    + [...node.any, ...node.all, ...node.none].map((c) => c.message).join("; "))),
        }),
        (error) => done({rules: [], findings: [String(error)]}));
    examine(0);
"""


# axe-core does not judge the contrast of symbols, such as the − and + of the steppers, which have
# the color of the surrounding text.
UNDECIDED = "Element content contains only non-text characters"


def findings(browser: Browser) -> list[str]:
    """Returns rule violations and undecided cases, each with its element."""
    if not browser.ask("return 'axe' in window"):
        browser.driver.execute_script(script())
    # The whole page as one screen, because axe-core ignores what a sticky element covers.
    browser.resize(browser.ask("return document.documentElement.scrollHeight"))
    result = browser.driver.execute_async_script(RUN)
    browser.resize(browser.height)
    # A checker that has examined nothing would have no findings either.
    assert {"color-contrast", "document-title", "html-has-lang"} <= set(result["rules"]), result
    return [finding for finding in result["findings"] if not finding.endswith(UNDECIDED)]
