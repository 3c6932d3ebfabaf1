"""Exceptions with causes, groups, warnings and stacks, printed in every way; the last one ends the program."""
import logging
import sys
import traceback
import warnings


def inner(n):
    if n == 0:
        raise ValueError("deep")
    inner(n - 1)


def chained():
    try:
        inner(2)
    except ValueError as problem:
        raise RuntimeError("outer") from problem


logging.basicConfig(format="%(levelname)s %(pathname)s:%(lineno)d %(funcName)s %(message)s", stream=sys.stderr)
for function in (lambda: inner(1), chained, lambda: {}["x"]):
    try:
        function()
    except Exception:
        traceback.print_exc()
        logging.exception("logged", stack_info=True)
for level in (1, 2, 3):
    (lambda: warnings.warn(f"at level {level}", UserWarning, stacklevel=level))()
print([(f.name, f.lineno) for f in traceback.extract_stack()])
behind = sys._getframe().f_back
print(behind and (behind.f_code.co_filename, behind.f_lineno), sys._getframe().f_code.co_filename)
sys.stdout.flush()
traceback.print_stack()
chained()
