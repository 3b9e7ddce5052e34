# SPDX-License-Identifier: Apache-2.0
"""The engine as a script.  usage: embed_engine.py engine.wasm OUTPUT.js"""

import base64
import sys
from pathlib import Path

engine, output = sys.argv[1:]
text = base64.b64encode(Path(engine).read_bytes()).decode("ascii")
Path(output).write_text(f'const engineBase64 = "{text}";\n', encoding="ascii")
