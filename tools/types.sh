#!/usr/bin/env bash
# Asks mypy and pyright of the Python package, and of every block of Python in the documents as a caller's program (strictly).
set -euo pipefail
cd "$(dirname "$0")/.."
environment=build/types/venv
if [ ! -e $environment/made ]; then
  rm -rf $environment
  python3 -m venv $environment
  $environment/bin/pip --disable-pip-version-check -qq install mypy==2.4.1 'pyright[nodejs]==1.1.414' numpy
  touch $environment/made
fi
rm -rf build/types/blocks
mkdir -p build/types/blocks
python3 - README.md docs/*.md <<'END'
import pathlib, re, sys, textwrap
for page in map(pathlib.Path, sys.argv[1:]):
    for number, block in enumerate(re.findall(r"```python\n(.*?)```", page.read_text(), re.S)):
        name = f"{page.stem.replace('-', '_').lower()}_{number}.py"
        pathlib.Path("build/types/blocks", name).write_text(textwrap.dedent(block).replace("def test_port():", "def test_port() -> None:"))
END
cp pyproject.toml build/types/blocks/
sed -i '/^\[tool.pyright\]/,$d' build/types/blocks/pyproject.toml
printf '[tool.pyright]\nextraPaths = ["%s"]\npythonVersion = "3.10"\nreportMissingModuleSource = false\n' "$PWD/python" >>build/types/blocks/pyproject.toml
PATH=$PWD/$environment/bin:$PATH
said() { "$@" >build/types/log 2>&1 || { cat build/types/log; exit 1; }; ! grep -E ' warning: ' build/types/log; }
said mypy
said pyright --pythonpath $environment/bin/python
(cd build/types/blocks && MYPYPATH=$OLDPWD/python "$OLDPWD/$environment/bin/mypy" --strict --config-file /dev/null --python-version 3.10 --follow-imports=silent ./*.py && pyright --pythonpath "$OLDPWD/$environment/bin/python" . >../log || { cat ../log; exit 1; })
echo "mypy and pyright say nothing of python/convoy and $(ls build/types/blocks/*.py | wc -l) blocks of the documents"
