import re

import pytest

import run_docs
import workspace

PAGE = """
# A page

```python
x = 2
```

~~~
not code
~~~

```
$ pip install tans
```

* a list

  ```pycon
  >>> x + 1
  3
  ```
"""


def page(tmp_path, text):
    path = tmp_path / "page.md"
    path.write_text(text)
    return path


def test_blocks_share_one_namespace(tmp_path):
    assert run_docs.run_page(page(tmp_path, PAGE)) == 2


def test_a_block_with_a_file_name_is_written_and_imported(tmp_path):
    text = (
        "```python file=made_up_family/rows.py\nvalue = 3\n```\n"
        "```python\nfrom made_up_family.rows import value\nassert value == 3\n```\n"
    )
    assert run_docs.run_page(page(tmp_path, text)) == 2


def test_an_error_points_at_the_line_of_the_page(tmp_path):
    text = "# A page\n\n```python\nx = 1\nx / 0\n```\n"
    path = page(tmp_path, text)
    with pytest.raises(ZeroDivisionError) as caught:
        run_docs.run_page(path)
    last = caught.traceback[-1]
    assert (str(last.path), last.lineno + 1) == (str(path), 5)


def test_a_wrong_result_fails(tmp_path):
    with pytest.raises(AssertionError, match="Expected:"):
        run_docs.run_page(page(tmp_path, "```pycon\n>>> 1 + 1\n3\n```\n"))


def test_an_open_block_is_refused(tmp_path):
    with pytest.raises(ValueError, match="line 2 is not closed"):
        run_docs.run_page(page(tmp_path, "\n```python\nx = 1\n"))


def test_a_warning_fails(tmp_path):
    text = "```python\nimport warnings\nwarnings.warn('old', DeprecationWarning)\n```\n"
    with pytest.raises(DeprecationWarning):
        run_docs.run_page(page(tmp_path, text))


def pages():
    root = workspace.ROOT
    found = [root / "README.md", *root.glob("docs/**/*.md"), *root.glob("packages/*/README.md")]
    return {p.relative_to(root).as_posix(): p for p in found}


@pytest.mark.parametrize("name", sorted(pages()))
def test_links_between_pages_lead_somewhere(name):
    path = pages()[name]
    text = re.sub(r"```.*?```", "", path.read_text(), flags=re.S)
    targets = re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", text)
    broken = [t for t in targets if ":" not in t and not (path.parent / t).exists()]
    assert broken == []


@pytest.mark.parametrize("name", sorted(pages()))
def test_files_that_pages_name_exist(name):
    named = re.findall(r"`(tans_\w+)/([\w/]*(?:\.py)?)`", pages()[name].read_text())
    packages = {p.import_name: p.source for p in workspace.load().values()}
    assert [n for n in named if not (packages[n[0]] / n[1]).exists()] == []
