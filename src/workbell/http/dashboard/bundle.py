"""Bundle of the dashboard: all modules as one script, all styles as one file. Made in Python, from our own sources.

`hatch_build.py` makes it for a wheel and loads this file by itself, so nothing of Workbell is imported here. In a
checkout the service makes it as it starts (`assets.py`).

Each module becomes a function that is called once, behind those that it imports, and returns what it exports. That is
what ES modules mean as long as there is no cycle of imports and nothing exported is assigned again later: a source that
does otherwise, or that has an import or export of another form than ours, is refused (`NotBundled`). Doc comments on
lines of their own, which have the types, are left out: they are a sixth of our sources. Written here because bundlers
are programs for Node, which neither users nor the build of a wheel should need.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from posixpath import dirname, join, normpath

MAIN, EARLY = "main.js", "theme.js"  # the module that begins all others; the script that runs before the first paint
SCRIPT, STYLE = "bundle.js", "bundle.css"
IMPORT = re.compile(r'^import\s*(?:(\w+)|\{([^}]*)\})\s*from\s*"(\.[^"]+)";?', re.MULTILINE)
LATER = re.compile(r'\bimport\("(\.[^"]+)"\)')
PASSED_ON = re.compile(r'^export\s*\{([^}]*)\}\s*from\s*"(\.[^"]+)";?', re.MULTILINE)
DECLARED = re.compile(r"^export ((?:async function|function|class|const) (\w+))", re.MULTILINE)
LISTED = re.compile(r"(?:^|(?<=[;}]))export\s*\{([^}]*)\};?", re.MULTILINE)
DEFAULT = re.compile(r"(?:^|(?<=[;}]))export default\b", re.MULTILINE)
DOC_COMMENT = re.compile(r"^[ \t]*/\*\*(?:(?!\*/).)*\*/[ \t]*\n", re.MULTILINE | re.DOTALL)
LEFT = re.compile(r"^\s*(?:import|export)\b(?!\()", re.MULTILINE)


class NotBundled(Exception):
    """A source that cannot be bundled: it has a form that is not known here."""


def bundles(files: Mapping[str, bytes]) -> dict[str, bytes]:
    """The script and the style of all files of the dashboard, which are given by their paths."""
    modules = {path: content.decode() for path, content in files.items() if path.endswith(".js") and path != EARLY}
    styles = {path: files[path].decode() for path in styles_of(files)}
    return {SCRIPT: bundle_script(modules, MAIN).encode(), STYLE: bundle_style(styles).encode()}


def styles_of(paths: Iterable[str]) -> list[str]:
    """Style sheets. Libraries first, so that ours can say otherwise; then by name, which their numbers are for."""
    found = [path for path in paths if path.endswith(".css") and path != STYLE]
    return sorted(found, key=lambda path: (not path.startswith("vendor/"), path))


def bundle_script(sources: Mapping[str, str], main: str) -> str:
    """One module script of all modules by their paths, which `main`, the last of them, begins."""
    order = _order(sources, main)
    names = {path: f"$module{number}" for number, path in enumerate(order)}
    return "\n".join(_module(path, sources[path], names, is_main=path == main) for path in order)


def _order(sources: Mapping[str, str], main: str) -> list[str]:
    """Modules, each behind those that it imports. Those that are loaded later come first of all."""
    found: list[str] = []
    visiting: set[str] = set()

    def visit(path: str, importer: str) -> None:
        if path not in sources:
            raise NotBundled(f"{importer} imports {path}, which is not there.")
        if path in visiting:
            raise NotBundled(f"{importer} imports {path}, which imports it: a cycle.")
        if path not in found:
            visiting.add(path)
            for name in imports_of(sources[path]):
                visit(_resolved(path, name), path)
            visiting.remove(path)
            found.append(path)

    later = [_resolved(path, name) for path in sorted(sources) for name in LATER.findall(sources[path])]
    for path in [*sorted(set(later)), main]:
        visit(path, main)
    return found


def imports_of(source: str) -> list[str]:
    """Paths that a module imports before it is executed, as it writes them."""
    return [found[2] for found in IMPORT.findall(source)] + [found[1] for found in PASSED_ON.findall(source)]


def _resolved(path: str, name: str) -> str:
    return normpath(join(dirname(path), name))


def _module(path: str, source: str, names: Mapping[str, str], *, is_main: bool) -> str:
    exported: dict[str, str] = {}

    def named(match: re.Match[str]) -> str:
        default, listed, name = match.groups()
        module = names[_resolved(path, name)]
        if default is not None:
            return f"const {default} = {module}.default;"
        return f"const {{ {', '.join(f'{a}: {b}' for a, b in _pairs(listed))} }} = {module};"

    def passed_on(match: re.Match[str]) -> str:
        module = names[_resolved(path, match[2])]
        exported.update({b: f"{module}.{a}" for a, b in _pairs(match[1])})
        return ""

    def declared(match: re.Match[str]) -> str:
        exported[match[2]] = match[2]
        return match[1]

    def listed(match: re.Match[str]) -> str:
        exported.update({b: a for a, b in _pairs(match[1])})
        return ""

    def default(_: re.Match[str]) -> str:
        exported["default"] = "$default"
        return "const $default ="

    text = IMPORT.sub(named, DOC_COMMENT.sub("", source))
    text = PASSED_ON.sub(passed_on, text)
    text = DECLARED.sub(declared, text)
    text = LISTED.sub(listed, text)
    text = DEFAULT.sub(default, text)
    text = LATER.sub(lambda match: f"Promise.resolve({names[_resolved(path, match[1])]})", text)
    left = LEFT.search(text)
    if left is not None:
        line = text[left.start() :].strip().partition("\n")[0]
        raise NotBundled(f"{path} has an import or export of a form that is not known here: {line[:80]}")
    if is_main:
        return f"// {path}\nawait (async () => {{\n{text}\n}})();\n"
    returned = ", ".join(f"{name}: {value}" for name, value in exported.items())
    return f"// {path}\nconst {names[path]} = (() => {{\n{text}\nreturn {{ {returned} }};\n}})();\n"


def _pairs(listed: str) -> list[tuple[str, str]]:
    """`a, b as c` as pairs of the name there and the name here."""
    found = []
    for part in filter(None, (part.strip() for part in listed.split(","))):
        there, _, here = part.partition(" as ")
        found.append((there.strip(), (here or there).strip()))
    return found


def bundle_style(sources: Mapping[str, str]) -> str:
    """One style of all, in the given order."""
    return "\n".join(f"/* {path} */\n{text}" for path, text in sources.items())
