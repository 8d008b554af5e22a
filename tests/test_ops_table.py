"""docs/ops.md is what the built ops say of themselves."""

import importlib.util
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def test_the_table_of_ops_is_up_to_date():
    spec = importlib.util.spec_from_file_location("ops_table", ROOT / "tools" / "ops_table.py")
    table = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(table)
    assert table.PAGE.read_text() == table.page(), "run tools/ops_table.py"
    assert table.main(["--check"]) == 0
    assert table.main(["--wrong"]) == 2
