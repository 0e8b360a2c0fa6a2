"""Pages of the site that are made from code, and the hooks by which mkdocs takes them.

From the registries and settings of the packages come pages of Markdown, which are no files of the repository.
``functions``, ``settings`` and ``performance`` make one page each; ``hooks`` gives them to mkdocs, and puts
pages that ``mkdocs.yml`` doesn't name at the end of the navigation. ``markdown`` writes tables.

    make docs
"""
