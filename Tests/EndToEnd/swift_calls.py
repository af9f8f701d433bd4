"""Which function of ours calls which, as far as the text of the sources tells."""

import re
from collections import defaultdict
from pathlib import Path

TYPE = re.compile(r"\b(?:struct|class|actor|enum|extension|protocol)\s+(?:\w+\.)*(\w+)")
FUNCTION = re.compile(r"\bfunc\s+(\w+)|\b(init)[?(<]|\bvar\s+(\w+)[^={]*\{")


def bodies(sources: Path) -> dict[str, str]:
    """The text of each function and computed property by `Type.name`; of all that share a name."""
    found: dict[str, str] = defaultdict(str)
    for file in sources.rglob("*.swift"):
        scopes: list[tuple[str, str]] = []
        head = ""
        for line in file.read_text().splitlines():
            code = re.sub(r'"(\\.|[^"\\])*"|//.*', "", line)
            for scope, name in scopes:
                if scope == "function":
                    found[name] += code + "\n"
            for piece in re.findall(r"[^{}]+|[{}]", code + "\n"):
                if piece == "{" and head.count("(") > head.count(")"):
                    scopes.append(("argument", head))
                elif piece == "{":
                    types = [name for scope, name in scopes if scope == "type"]
                    function, kind = FUNCTION.search(head + "{"), TYPE.search(head)
                    if function and types and not kind:
                        name = f"{types[-1]}.{next(filter(None, function.groups()))}"
                        scopes.append(("function", name))
                        found[name] += head + code[code.find("{"):] + "\n"
                    else:
                        scopes.append(("type", kind[1]) if kind else ("block", ""))
                    head = ""
                elif piece == "}":
                    scope, before = scopes.pop() if scopes else ("block", "")
                    head = before if scope == "argument" else ""
                else:
                    # A statement ends with its line, a head that goes on has an open bracket or is one.
                    is_open = head.count("(") > head.count(")") or FUNCTION.search(head)
                    head = head + piece if is_open or TYPE.search(head) else piece
    return found


def calls(bodies: dict[str, str], caller: str, called: str) -> bool:
    kind, name = called.split(".")
    text = kind + "(" if name == "init" else name
    return re.search(rf"\b{re.escape(text)}", bodies[caller]) is not None
