#!/usr/bin/env bash
# Installs the wheels of dist/ in a bare Debian or Ubuntu, without a compiler, and uses them as a new user would.
# usage (as root, on Debian or Ubuntu): tools/wheels/test.sh [SUITE] [neural]
#   SUITE   release of Debian or Ubuntu, whose Python is used (default: that of this machine)
#   neural  tests sentencode[nn], too, with the torch of TORCH (default 2.13.0)
# NUMPY=1.26.0 installs this NumPy instead of the newest.
set -euo pipefail
cd "$(dirname "$0")/../.."
suite=${1:-$(. /etc/os-release && echo "$VERSION_CODENAME")} neural=${2:-}
case $suite in
  jammy | noble | plucky | questing | resolute) mirror=http://archive.ubuntu.com/ubuntu components=main,universe ;;
  *) mirror=http://deb.debian.org/debian components=main ;;
esac
base=/var/tmp/sentencode-wheels-$suite
if [ ! -e "$base/ok" ]; then
  rm -rf "$base"
  [ -e "/usr/share/debootstrap/scripts/$suite" ] || ln -s gutsy "/usr/share/debootstrap/scripts/$suite"
  debootstrap --variant=minbase --no-check-gpg --components="$components" \
    --include=python3,python3-venv,ca-certificates "$suite" "$base" "$mirror" >/dev/null
  touch "$base/ok"
fi
rm -rf "$base/work"
mkdir -p "$base/work"
cp -r dist tools/wheels/use.py "$base/work"
# Settings of pip, and the folders of packages that they name.
folders=$({ env; cat /etc/pip.conf "$HOME/.config/pip/pip.conf" 2>/dev/null || true; } | grep -iE 'find.links|index.url' |
  grep -oE '(file://)?/[A-Za-z0-9_./-]+' | sed 's#^file://##' | sort -u || true)
unshare -m bash -euo pipefail -c '
  base=$1 folders=$2; shift 2
  mount --rbind /proc "$base/proc"; mount --rbind /dev "$base/dev"; mount -t tmpfs tmpfs "$base/tmp"
  for file in /etc/resolv.conf /etc/hosts /etc/pip.conf; do [ -e $file ] && cp -L $file "$base$file"; done
  for folder in /etc/ssl/certs /usr/local/share/ca-certificates $folders; do
    [ -d "$folder" ] && mkdir -p "$base$folder" && mount --bind -o ro "$folder" "$base$folder"
  done
  mapfile -t settings < <(env | grep -iE "^(PIP_|SSL_|CURL_|REQUESTS_|https?_proxy|no_proxy|TORCH=|NUMPY=)")
  exec chroot "$base" env -i HOME=/root PATH=/usr/bin:/bin LANG=C.UTF-8 "${settings[@]}" "$@"
' _ "$base" "$folders" bash -euo pipefail -c '
  cd /work
  if command -v gcc g++ cc; then echo "there is a compiler" >&2; exit 1; fi
  python3 -m venv venv
  pip="venv/bin/python -m pip --disable-pip-version-check -q"
  start=$(date +%s.%N)
  $pip install --find-links dist --no-index --no-deps sentencode
  $pip install "numpy${NUMPY:+==$NUMPY}" tqdm
  venv/bin/python -c "import sentencode as se; print(se.Average(se.WordVectors.default()).encode(\"One sentence.\").shape)"
  echo "from pip install to the first embedding: $(python3 -c "import time; print(round(time.time() - $start, 1))") s"
  if [ -n "$0" ]; then
    $pip install "torch==${TORCH:-2.13.0}" scikit-learn
    $pip install --find-links dist --no-index --no-deps sentencode-nn
  fi
  venv/bin/python use.py
  venv/bin/sentencode demo --out demo
' "$neural"
echo "$suite: the wheels work"
