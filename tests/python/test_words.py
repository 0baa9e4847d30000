"""Everything public has a docstring and type hints, and so has everything else that others call."""

import ast
import inspect
import os
import typing
import unittest

import ppsim

FOLDER = os.path.dirname(ppsim.__file__)


class Words(unittest.TestCase):
    def functions(self):
        """Yields module, function or class of all modules but those inside of functions."""
        for name in sorted(os.listdir(FOLDER)):
            if not name.endswith(".py"):
                continue
            with open(os.path.join(FOLDER, name), encoding="utf-8") as file:
                tree = ast.parse(file.read())
            self.assertTrue(ast.get_docstring(tree), name)
            for node in ast.walk(tree):
                for child in (
                    getattr(node, "body", []) if isinstance(node, (ast.Module, ast.ClassDef)) else []
                ):
                    decorators = [ast.unparse(d) for d in getattr(child, "decorator_list", [])]
                    if isinstance(child, (ast.FunctionDef, ast.ClassDef)) and "overload" not in decorators:
                        yield name, node, child

    def test_docstrings_and_hints(self):
        for name, owner, node in self.functions():
            where = f"{name}: {node.name}"
            if not node.name.startswith("_") and not isinstance(owner, ast.FunctionDef):
                private = isinstance(owner, ast.ClassDef) and owner.name.startswith("_")
                self.assertTrue(ast.get_docstring(node) or private, where + " has no docstring")
            if isinstance(node, ast.FunctionDef):
                arguments = [*node.args.args, *node.args.kwonlyargs]
                self.assertTrue(
                    all(a.annotation for a in arguments if a.arg != "self"),
                    where + " lacks type hints",
                )
                self.assertIsNotNone(node.returns, where + " has no type of what it returns")

    def test_options_have_hints(self):
        from ppsim import _options

        for command in ("plan", "simulate", "check", "pack", "compare", "shapes"):
            hints = typing.get_type_hints(getattr(_options, command.capitalize() + "Options"))
            self.assertEqual(set(hints), set(ppsim.options(command)), command)

    def test_hints_can_be_asked_for(self):
        for name in ppsim.__all__:
            value = getattr(ppsim, name)
            if not isinstance(value, type):
                self.assertIn("return", typing.get_type_hints(value), name)
                continue
            for member in vars(value).values():
                function = member.fget if isinstance(member, property) else member
                if inspect.isfunction(function) and function.__module__.startswith("ppsim"):
                    typing.get_type_hints(function)
        self.assertEqual(
            typing.get_type_hints(ppsim.plan)["return"], typing.Union[ppsim.Plan, ppsim.Table]
        )

    def test_all_is_all(self):
        self.assertEqual(set(dir(ppsim)), {*ppsim.__all__, "__version__"})
        for name in ppsim.__all__:
            self.assertTrue(inspect.getdoc(getattr(ppsim, name)), name)
        self.assertTrue(ppsim.__version__)
        self.assertTrue(os.path.exists(os.path.join(FOLDER, "py.typed")))


if __name__ == "__main__":
    unittest.main()
