"""The pages: a folder for each subject (runs, logs, targets …) with the same parts.

- `views.py`, or one `*_views.py` for each group of pages, and `urls.py` with their URLs
- `forms.py`: the forms that its pages show or filter by, where it has any
- `*.html`: the templates, named `pages/<subject>/<page>.html`
- `tags.py`: template tags of the subject; `{% load <subject> %}` loads them

`site/` has what all pages share: the base template, the filters that write numbers and times (built in),
error pages and middleware. To add a subject, make its folder and add its name to SUBJECTS in `urls.py`;
with template tags, also to TEMPLATES in `config/settings.py`.
"""
