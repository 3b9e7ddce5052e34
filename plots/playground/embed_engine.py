# SPDX-License-Identifier: Apache-2.0
"""The engine as a script, compressed.  usage: embed_engine.py engine.wasm OUTPUT.js"""

import base64
import gzip
import sys
from pathlib import Path

engine, output = sys.argv[1:]
packed = gzip.compress(Path(engine).read_bytes(), mtime=0)  # the same bytes whenever it is built
text = base64.b64encode(packed).decode("ascii")
Path(output).write_text(f'const packedEngine = "{text}";\n', encoding="ascii")
