# SPDX-License-Identifier: Apache-2.0
"""compile_alone.py finds the file that does not compile by itself, and only looks at those it is given."""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

SCRIPT = Path(__file__).parent / "compile_alone.py"
FILES = {
    "good.cpp": "#include <vector>\nstd::vector<int> all;\n",
    "bad.cpp": "std::vector<int> all;\n",  # what another file of a unit may have included
    "other.cpp": "nonsense\n",
}


def compiled(folder, *names):
    words = [sys.executable, "-B", str(SCRIPT), ".", "2"]
    return subprocess.run(words, input="\n".join(names), cwd=folder, capture_output=True, text=True, check=False)


def main(compiler):
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder).resolve()
        entries = []
        for name, text in FILES.items():
            (root / name).write_text(text)
            entries.append({"directory": str(root), "file": str(root / name), "command": f"{compiler} -o {name}.o -c {name}"})
        (root / "compile_commands.json").write_text(json.dumps(entries))
        good, both = compiled(root, "good.cpp"), compiled(root, "good.cpp", "bad.cpp")
        assert (good.returncode, good.stdout) == (0, ""), good
        assert both.returncode == 1 and "bad.cpp:1" in both.stdout, both
        assert sorted(path.name for path in root.iterdir()) == sorted([*FILES, "compile_commands.json"])


if __name__ == "__main__":
    main(sys.argv[1])
