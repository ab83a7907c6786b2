#!/usr/bin/env bash
# The documents as a site, build/docs/site: pages of docs/, the Python module's docstrings, pictures made by the command.
#   tools/site.sh              strict: a link that leads nowhere ends it
#   tools/site.sh --pictures   takes the pictures again that stand in docs/pictures, for readers of the files
set -euo pipefail
cd "$(dirname "$0")/.."
convoy=$PWD/build/release/convoy
pages=$PWD/build/docs/source

# The page of a comparison, as a browser shows it.
pictures() {
  local folder
  folder=$(mktemp -d)
  ln -s "$PWD/examples" "$folder/examples"
  (
    cd "$folder"
    "$convoy" weights examples/digits.keras examples/digits_by_hand.py --copy --no-proof -o by_hand.safetensors >said
    "$convoy" diff examples/digits.keras examples/digits_by_hand.py --weights-b by_hand.safetensors --html page.html -q || [ $? -eq 1 ]
    chromium --headless --no-sandbox --disable-gpu --hide-scrollbars --window-size=1000,860 --screenshot="$1/diff.png" page.html \
      >said 2>&1 || { cat said >&2; exit 1; }
    for name in 'same-stride-2 Conv2D(8,3,strides=2,padding="same") 8' 'padding-1 nn.Conv2d(3,8,3,stride=2,padding=1) 8'; do
      read -r file call size <<<"$name"
      "$convoy" pad "$call" --size "${size}x$size" --svg "$1/$file.svg" --force >said
    done
  )
  rm -rf "$folder"
}

if [ "${1:-}" = --pictures ]; then
  pictures "$PWD/docs/pictures"
  exit
fi
environment=build/docs/venv
if [ ! -e $environment/made ]; then
  rm -rf $environment
  python3 -m venv $environment
  $environment/bin/pip --disable-pip-version-check -qq install mkdocs==1.6.1 mkdocs-material==9.8.1
  touch $environment/made
fi
rm -rf "$pages" build/docs/site
mkdir -p "$pages"
cp -r docs/. "$pages"
pictures "$pages/pictures"
python3 tools/api_page.py python/convoy >"$pages/api.md"
NO_MKDOCS_2_WARNING=1 $environment/bin/mkdocs build --strict -q
echo "the site is build/docs/site/index.html"
