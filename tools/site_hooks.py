"""What mkdocs is told beside mkdocs.yml: links into the project, which the site does not hold, become names of files."""
import re

LINK = re.compile(r"\[([^\]]*)\]\(\.\./([^)#]+)(#[^)]*)?\)")


def on_page_markdown(markdown, **_):
    return LINK.sub(lambda found: found[1] if found[2] in found[1] else f"{found[1]} (`{found[2]}`)", markdown)
