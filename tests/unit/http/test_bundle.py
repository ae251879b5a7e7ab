"""Bundle of the dashboard: modules in the order of their imports, each with what it exports."""

from __future__ import annotations

import pytest

from workbell.http.dashboard.assets import assets
from workbell.http.dashboard.bundle import (
    EARLY,
    MAIN,
    SCRIPT,
    STYLE,
    NotBundled,
    bundle_script,
    bundle_style,
    styles_of,
)


@pytest.mark.parametrize(
    ("sources", "why"),
    [
        ({"main.js": 'import { a } from "./a.js";'}, "main.js imports a.js, which is not there"),
        (
            {"main.js": 'import { a } from "./a.js";', "a.js": 'import { b } from "./main.js";\nexport const a = 1;'},
            "a cycle",
        ),
        ({"main.js": 'import * as all from "./a.js";', "a.js": ""}, r"main.js has .* import \* as all"),
        ({"main.js": "export let count = 0;"}, "export let count"),
    ],
)
def test_what_cannot_be_bundled_is_refused(sources: dict[str, str], why: str) -> None:
    with pytest.raises(NotBundled, match=why):
        bundle_script(sources, "main.js")


def test_doc_comments_on_lines_of_their_own_are_left_out() -> None:
    comments = "/** @typedef {string} Name */\n/**\n * What it is.\n * @param {Name} a\n */\n"
    code = "const f = (a) => /** @type {1} */ (a);\n// why\n"
    made = bundle_script({"main.js": comments + code}, "main.js")
    assert "typedef" not in made
    assert "What it is" not in made
    assert code in made


def test_styles_keep_their_order() -> None:
    assert bundle_style({"b.css": "p { color: red }", "a.css": "p { color: blue }"}).index("red") < 30


def test_the_dashboard_is_one_script_and_one_style() -> None:
    known = assets()
    script, style = (known.by_path[path].content.decode() for path in (SCRIPT, STYLE))
    sources = [path for path in known.by_path if path.endswith(".js") and path not in (SCRIPT, EARLY)]
    assert [path for path in sources if f"// {path}\n" not in script] == []
    assert "const $module" not in script[script.index(f"\n// {MAIN}\n") :], "it begins all others"
    styles = styles_of(known.by_path)
    assert styles[0] == "vendor/uplot.css"
    assert [path for path in styles if f"/* {path} */" not in style] == []


def test_the_page_of_a_wheel_has_the_bundles_alone() -> None:
    """The single files, which `?debug` asks for, are not in a wheel."""
    known = assets()
    packaged = known._replace(by_path={path: known.by_path[path] for path in (SCRIPT, STYLE, EARLY)})
    assert known.of_page(single=True) == (MAIN, styles_of(known.by_path))
    assert packaged.of_page(single=True) == known.of_page(single=False) == (SCRIPT, [STYLE])
