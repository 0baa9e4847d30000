"""The sessions of docs/tutorial/python.md run, and print what stands there."""

import contextlib
import doctest
import io
import os
import re
import sys
import tempfile
import unittest
import warnings

PAGE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "docs", "tutorial", "python.md")
OPTIONS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def sessions():
    """The text of the page's sessions, one after the other."""
    with open(PAGE, encoding="utf-8") as file:
        return "\n".join(re.findall(r"^```pycon\n(.*?)^```", file.read(), re.M | re.S))


class Tutorial(unittest.TestCase):
    def test_sessions(self):
        warnings.simplefilter("ignore")
        test = doctest.DocTestParser().get_doctest(sessions(), {}, "tutorial/python.md", PAGE, 0)
        self.assertGreater(len(test.examples), 15)
        report = io.StringIO()
        here = os.getcwd()
        with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as stack:
            stack.callback(os.chdir, here)
            os.chdir(folder)
            failed, _ = doctest.DocTestRunner(optionflags=OPTIONS).run(test, out=report.write)
        self.assertEqual(failed, 0, report.getvalue())


class Names(unittest.TestCase):
    def test_the_project_of_this_name_is_not_installed(self):
        """On PyPI the name belongs to another project."""
        root = os.path.join(os.path.dirname(PAGE), "..", "..")
        pages = [os.path.join(root, "README.md")]
        for folder, _, names in os.walk(os.path.join(root, "docs")):
            pages += [os.path.join(folder, name) for name in names if name.endswith(".md")]
        self.assertGreater(len(pages), 10)
        for page in pages:
            with open(page, encoding="utf-8") as file:
                self.assertNotRegex(file.read(), r"pip3? install (\S+ )*ppsim(?![-\w*.])", page)


if __name__ == "__main__":
    unittest.main()
