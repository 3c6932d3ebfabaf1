"""A Python file of the user's, its syntax tree, and changes of single places in it. Everything outside those places stays to
the byte: comments, layout, line ends. Places come from the tree, never from a search in the text."""
import ast


class CannotEdit(Exception):
    """Why a place is left to the user: one clause that follows a colon."""


def name_of(node):
    """"torch.utils.data.DataLoader" of a Name or an Attribute; "().cuda" of a method of something unnamed; else ""."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        return (name_of(node.value) or "()") + "." + node.attr
    return ""


def last_name(node):
    """The name under which a call is known: "DataLoader"."""
    return name_of(node.func).rpartition(".")[2]


class Source:
    def __init__(self, path, shown, text):
        """path: to read; shown: in the diff, and in what is said; text: bytes."""
        self.path, self.shown, self.text = path, shown, text
        self.tree = ast.parse(text, path)
        self.starts = [0]
        for line in text.splitlines(keepends=True):  # as Python counts lines: by \n, \r\n and \r
            self.starts.append(self.starts[-1] + len(line))
        self.parents = {child: node for node in ast.walk(self.tree) for child in ast.iter_child_nodes(node)}
        self.changes = []  # (from, to, bytes), none within another
        self.keywords = {}  # of a call: {name: value}, to be added
        self.end_of_line = b"\r\n" if b"\r\n" in text else b"\n"

    def nodes(self, kind, line=None):
        """All nodes of a class; those that begin on the line, or else those that include it."""
        found = [n for n in ast.walk(self.tree) if isinstance(n, kind)]
        if line is None:
            return found
        return [n for n in found if n.lineno == line] or [n for n in found if n.lineno <= line <= n.end_lineno]

    def calls(self, names, line=None):
        return [c for c in self.nodes(ast.Call, line) if last_name(c) in names]

    def call(self, names, line):
        """The one call of these names at a line."""
        found = self.calls(names, line)
        if len(found) != 1:
            shown = " or ".join(sorted(names))
            raise CannotEdit(f"line {line} has {len(found) or 'no'} call{'s' * (len(found) > 1)} of {shown}")
        return found[0]

    def begin(self, node):
        return self.starts[node.lineno - 1] + node.col_offset

    def end(self, node):
        return self.starts[node.end_lineno - 1] + node.end_col_offset

    def written(self, node):
        return self.text[self.begin(node):self.end(node)].decode()

    def statement(self, node):
        while not isinstance(node, ast.stmt):
            node = self.parents[node]
        return node

    def replace(self, node, text):
        if self.written(node) != text:
            self._change(self.begin(node), self.end(node), text.encode())

    def set_keyword(self, call, name, value, place=None):
        """name=value in a call, in place of what it says now. place: how many arguments stand before it where it has no name. True:
        something changes."""
        if place is not None and (len(call.args) > place or any(isinstance(a, ast.Starred) for a in call.args)):
            raise CannotEdit(f"line {call.lineno} may set {name} without its name")
        for keyword in call.keywords:
            if keyword.arg is None:
                raise CannotEdit(f"line {call.lineno} passes **{self.written(keyword.value)}, which may set {name}")
            if keyword.arg == name:
                if self.written(keyword.value) == value:
                    return False
                self.replace(keyword.value, value)
                return True
        self.keywords.setdefault(call, {})[name] = value
        return True

    def drop_keyword(self, call, keyword):
        """With the comma that parts it from what stands before it, or from what follows."""
        arguments = call.args + call.keywords
        at = arguments.index(keyword)
        start, end = self.begin(keyword), self.end(keyword)
        if at:
            start = self.end(arguments[at - 1])
        elif len(arguments) > 1:
            end = self.begin(arguments[1])
        self._change(start, end, b"")

    def insert_behind(self, node, text):
        self._change(self.end(node), self.end(node), text.encode())

    def insert_after(self, statement, text):
        """A line of its own behind a statement, indented like it."""
        line = statement.end_lineno
        if self.starts[line] > len(self.text) or not self.text[:self.starts[line]].endswith((b"\n", b"\r")):
            raise CannotEdit(f"line {line} has no end")
        first = self.text[self.starts[statement.lineno - 1]:self.begin(statement)]
        if first.strip() or self.text[self.end(statement):self.starts[line]].strip().startswith(b";"):
            raise CannotEdit(f"line {line} holds several statements")
        self._change(self.starts[line], self.starts[line], first + text.encode() + self.end_of_line)

    def insert_import_setting(self, module, text):
        """A line behind the imports at the top of the file, the last of which follows `import module`."""
        imports = []
        for node in self.tree.body:
            if isinstance(node, (ast.Import, ast.ImportFrom)):
                imports.append(node)
            elif imports and not isinstance(node, (ast.Try, ast.If)):
                break
        if not any(isinstance(n, ast.Import) and any(a.name.split(".")[0] == module and a.asname in (None, module)
                                                     for a in n.names) for n in imports):
            raise CannotEdit(f"{self.shown} does not import {module} by that name")
        self.insert_after(imports[-1], text)

    def block(self, statement):
        """The list of statements in which it stands."""
        return next(b for _, b in ast.iter_fields(self.parents[statement]) if isinstance(b, list) and statement in b)

    def calls_of(self, module, name):
        """Calls of a function of a module, by whatever name the file has it."""
        names = {f"{module}.{name}"}
        parent, _, last = module.rpartition(".")
        for node in self.nodes((ast.Import, ast.ImportFrom)):
            for a in node.names:
                if isinstance(node, ast.Import):
                    names |= {f"{a.asname}.{name}"} if a.name == module and a.asname else set()
                elif (node.module, a.name) in ((module, name), (parent, last)):
                    names.add((a.asname or a.name) + (f".{name}" if node.module == parent else ""))
        return [c for c in self.nodes(ast.Call) if name_of(c.func) in names]

    def delete(self, statement):
        """A statement that is a line of its own; `pass` stays where a block would be empty."""
        if len(self.block(statement)) == 1:
            self.replace(statement, "pass")
            return
        start, end = self.starts[statement.lineno - 1], self.starts[statement.end_lineno]
        if self.text[start:self.begin(statement)].strip() or self.text[self.end(statement):end].strip():
            self.replace(statement, "pass")  # a comment or another statement shares the line
            return
        self._change(start, end, b"")

    def _change(self, start, end, text):
        if start < end and (start, end, text) in self.changes: # two advices ask for the same
            return
        for s, e, _ in self.changes:
            if start < e and s < end or (start, end) == (s, e) and start < end:
                raise CannotEdit("another change is made there already")
        self.changes.append((start, end, text))

    def _add_keywords(self, call, wanted):
        """Behind the last argument, in the call's own layout: on lines of their own if the last argument has one."""
        close = self.end(call) - 1
        arguments = call.args + [k.value for k in call.keywords]
        said = [f"{name}={value}" for name, value in wanted.items()]
        if not arguments:
            return self._change(close, close, ", ".join(said).encode())
        if len(arguments) == 1 and isinstance(arguments[0], ast.GeneratorExp):
            raise CannotEdit(f"line {call.lineno} passes a bare generator")
        last = max(arguments, key=self.end)
        at, comma = self.end(last), False
        comment = False
        for offset in range(at, close):  # brackets around the argument, a comma, comments
            byte = self.text[offset:offset + 1]
            comment = byte == b"#" or comment and byte not in b"\r\n"
            if byte in b")," and not comment:
                at, comma = offset + 1, byte == b","
        if not comma:
            return self._change(at, at, "".join(", " + s for s in said).encode())
        line = self.text[self.starts[last.lineno - 1]:self.begin(last)]
        indent = line[:len(line) - len(line.lstrip(b" \t"))]
        own_line = b"\n" in self.text[at:close] or b"\r" in self.text[at:close]
        if own_line:
            return self._change(at, at, b"".join(self.end_of_line + indent + s.encode() + b"," for s in said))
        return self._change(at, at, " ".join([""] + [s + "," for s in said]).encode())

    def changed(self):
        """The new text. What is in it parses."""
        for call, wanted in self.keywords.items():
            self._add_keywords(call, wanted)
        self.keywords = {}
        text, upto = b"", 0
        for start, end, new in sorted(self.changes, key=lambda c: c[:2]):
            text += self.text[upto:start] + new
            upto = end
        text += self.text[upto:]
        ast.parse(text, self.path)
        return text
