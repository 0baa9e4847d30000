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


if __name__ == "__main__":
    unittest.main()
