"""A hook of mkdocs: links of docs/ to files of the repository that are no pages.

On GitHub they lead to the file. The site is built without knowing where the repository is, so there
they are their text alone; one that leads nowhere fails the build.
"""

import re
from pathlib import Path

from mkdocs.exceptions import PluginError

_LINK = re.compile(r"\[(?P<text>[^\]]*)\]\((?P<target>\.\./[^)#\s]*)(?:#[^)\s]*)?\)")


def on_page_markdown(markdown: str, page, config, **_) -> str:
    docs = Path(config.docs_dir)

    def without_link(link: re.Match) -> str:
        if not (docs / link["target"]).exists():
            raise PluginError(f"{page.file.src_path}: there is no {link['target']}")
        return link["text"]

    return _LINK.sub(without_link, markdown)
