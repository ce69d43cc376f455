"""HTML to Markdown."""

import time

from rag_pipeline.sources.html import HtmlReader
from rag_pipeline.sources.reader import Reading, Refusal


def read(html: str) -> Reading:
    found = HtmlReader().read(html.encode())
    assert isinstance(found, Reading)
    return found


def test_scripts_styles_and_navigation_are_dropped() -> None:
    found = read("<head><style>x{}</style></head><nav>Home</nav><script>var x</script><p>Body</p><!-- note -->")
    assert found.text == "Body\n"


def test_headings_with_ids_are_locators() -> None:
    found = read(
        '<h1 id="top">Pump</h1><p>x</p><section id="safe"><h2>Safety</h2></section>'
        '<h2><a name="old"></a>Old</h2><h2>No</h2>'
    )
    assert found.text == "# Pump\n\nx\n\n## Safety\n\n## Old\n\n## No\n"
    assert found.locators == ((0, "#top"), (11, "#safe"), (22, "#old"))
    assert [found.text[at:].split("\n")[0] for at, _ in found.locators] == ["# Pump", "## Safety", "## Old"]


def test_a_head_that_is_never_closed_loses_nothing() -> None:
    found = read("<html><head><title>T</title><meta name=x><p>the page</p>")
    assert (found.text, found.title) == ("the page\n", "T")


def test_permalink_signs_are_no_part_of_a_heading() -> None:
    found = read('<h2 id="a">Setup<a class="headerlink" href="#a">¶</a></h2>')
    assert (found.text, found.locators) == ("## Setup\n", ((0, "#a"),))


def test_title_and_metadata() -> None:
    found = read(
        '<html lang="en-GB"><head><title> Pump &amp;\n manual </title><meta name="keywords" content="a, b">'
        '<meta name="Author" content="Ada"></head><h1>Other</h1></html>'
    )
    assert (found.title, found.metadata.language, found.metadata.author) == ("Pump & manual", "en-gb", "Ada")
    assert found.metadata.tags == ("a", "b")
    assert read("<svg><title>icon</title></svg><h1>Pump</h1>").title == "Pump"
    assert read("<p>x</p>").title is None


def test_identifiers_are_not_escaped_but_blocks_are() -> None:
    found = read("<p>create_agent 3*4 C++</p><p># no heading</p><p>```</p>")
    assert found.text == "create_agent 3*4 C++\n\n\\# no heading\n\n\\```\n"


def test_code_keeps_its_language_and_inner_fences() -> None:
    found = read('<pre><code class="language-python">s = "x"\n```\n</code></pre>')
    assert found.text == '````python\ns = "x"\n```\n````\n'


def test_table_cells_keep_their_pipes() -> None:
    found = read("<table><tr><th>a</th></tr><tr><td>x|y</td></tr></table>")
    assert found.text == "| a |\n| --- |\n| x\\|y |\n"


def test_marks_in_the_text_are_no_anchors() -> None:
    found = read('<h1 id="a">A\ufdd07\ufdd1</h1>')
    assert (found.text, found.locators) == ("# A7\n", ((0, "#a"),))


def test_a_declared_encoding() -> None:
    found = HtmlReader().read('<meta charset="iso-8859-7"><p>αβγδε'.encode("iso-8859-7"))
    assert isinstance(found, Reading)
    assert found.text == "αβγδε\n"


def test_deep_nesting_is_read_as_plain_text() -> None:
    found = read("<div>" * 5000 + "deep words" + "</div>" * 5000)
    assert "deep words" in found.text
    assert found.repairs


def test_a_rejected_declaration_is_reported() -> None:
    found = HtmlReader().read(b"<![foo bar<p>x</p>")
    assert isinstance(found, Refusal)
    assert (found.outcome, found.rule) == ("failed", "malformed")


def test_empty_pages_and_long_ones() -> None:
    assert read("<nav>only</nav>").text == ""
    started = time.monotonic()
    assert len(read("<p>" + "word " * 400_000).text) > 1_900_000
    assert time.monotonic() - started < 10
