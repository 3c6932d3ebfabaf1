"""Imports in unusual ways: own finders, zip files, reload, runpy, namespace packages, an import hook that counts."""
import importlib
import importlib.util
import os
import pkgutil
import runpy
import sys
import zipfile


class Counting:
    seen = []

    def find_spec(self, name, path=None, target=None):
        self.seen.append(name)
        return None


sys.meta_path.insert(0, Counting())
os.makedirs("packages/spaced", exist_ok=True)
with open("packages/spaced/part.py", "w") as file:
    file.write("NAME = __name__\nSPEC = __spec__.name\n")
os.utime("packages/spaced/part.py", (1577836800, 1577836800))
with zipfile.ZipFile("zipped.zip", "w") as archive:
    archive.writestr(zipfile.ZipInfo("in_zip.py"), "import sys\nHERE = sys._getframe().f_back is None\nNAME = __name__\n")
sys.path[:0] = ["packages", "zipped.zip"]
import in_zip
import spaced.part

print(spaced.part.NAME, spaced.part.SPEC, in_zip.NAME, in_zip.__file__, type(in_zip.__loader__).__name__)
importlib.reload(spaced.part)
print(runpy.run_path("packages/spaced/part.py")["NAME"])
print([m.name for m in pkgutil.iter_modules(["packages", "packages/spaced"])])
print(importlib.util.find_spec("torch_that_is_not_there"), importlib.util.find_spec("json").origin)
try:
    import torch_that_is_not_there
except ImportError as problem:
    print(repr(problem), problem.__traceback__.tb_next)
print(Counting.seen)
print(sorted(sys.path_importer_cache))
print([getattr(f, "__name__", type(f).__name__) for f in sys.meta_path])
for name in list(sys.modules):
    if name.startswith("spaced"):
        del sys.modules[name]
print(importlib.import_module("spaced.part").NAME)
