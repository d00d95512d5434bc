"""Sphinx's settings for the documentation: ``make docs`` builds it."""

import os
import sys
from pathlib import Path

import actup

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "_extensions"))

project = "ActUp"
author = "the ActUp developers"
copyright = "2026, the ActUp developers"  # the name that Sphinx reads
version = release = actup.__version__

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
    "api_pages",
    "mathml",
    "interactive_pages",
    "links",
]
root_doc = "index"
exclude_patterns = [
    "_extensions",
    "gallery",
    "pictures",
    "sg_execution_times.rst",
    "**/sg_execution_times.rst",
]

# ---- Markdown ----

myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 4  # as GitHub has them: links to headings work on both
repository = "https://github.com/actup/actup"  # where links that leave docs/ lead

# ---- the reference, from docstrings ----

autodoc_typehints = "none"  # docstrings name the types in words
autodoc_member_order = "groupwise"
autosummary_generate = True
autosummary_imported_members = True
numpydoc_show_class_members = False  # the templates list methods
numpydoc_class_members_toctree = False
templates_path = ["_templates"]
nitpick_ignore_regex = [
    ("py:.*", r"(sklearn|numpy|scipy|matplotlib|anndata|pandas)\..*")
]  # of other packages

# ---- the gallery ----

sphinx_gallery_conf = {
    "examples_dirs": "gallery",
    "gallery_dirs": "examples",
    "filename_pattern": r"\.py$",
    "within_subsection_order": "FileNameSortKey",
    "download_all_examples": False,
    "show_signature": False,
    "show_memory": False,
    "capture_repr": (),  # what a block prints is shown, what it returns is not
    "min_reported_time": 10**6,  # times say more about the machine than about the example
    "remove_config_comments": True,
    "doc_module": ("actup",),
    "reference_url": {"actup": None},
    "backreferences_dir": None,
    "image_scrapers": ("figure_scraper.scrape",),
}

# ---- pages ----

html_theme = "pydata_sphinx_theme"
html_title = "ActUp"
html_static_path = ["_static"]
html_css_files = ["actup.css"]
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {
    "logo": {"text": "ActUp"},
    "github_url": repository,
    "navbar_align": "left",
    "header_links_before_dropdown": 6,
    "show_toc_level": 2,
    "navigation_with_keys": False,
    "footer_start": ["copyright"],
    "footer_end": [],
    "secondary_sidebar_items": {"**": ["page-toc"], "index": []},
}
html_sidebars = {"index": [], "faq": []}
html_context = {"default_mode": "auto"}
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

# ---- versions ----

# Pages that are published have a switch between versions, whose list docs/_extensions/versions.py writes.
# Pages that are built elsewhere have none: it is read from the network.
if published_version := os.environ.get("ACTUP_DOCS_VERSION"):
    import versions

    html_theme_options |= {
        "switcher": {"json_url": f"{versions.ADDRESS}versions.json", "version_match": published_version},
        "check_switcher": False,  # the first version is published before the list
        "show_version_warning_banner": True,
        "navbar_end": ["version-switcher", "theme-switcher", "navbar-icon-links"],
    }
