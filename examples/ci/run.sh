#!/bin/sh
# Proves the hook: a commit within the budget goes through, one over it does not. It needs Go and git.
set -eu
cd "$(dirname "$0")"
here=$PWD
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
(cd ../.. && go build -o "$work/bin/memspec" ./cmd/memspec)
PATH=$work/bin:$PATH
export GIT_CONFIG_NOSYSTEM=1 GIT_CONFIG_GLOBAL=/dev/null
git init -q "$work/repo"
cd "$work/repo"
git config user.name example
git config user.email example@example.invalid
cp "$here/pre-commit" .git/hooks/pre-commit
chmod +x .git/hooks/pre-commit
cp "$here/../../testdata/artifacts/torchvision/mobilenet_v3_small.script.pt" model.pt
cat >memspec.yaml <<'YAML'
version: 1
defaults: {device: t4, runtime: eager}
models:
  mobilenet:
    artifact: model.pt
    inputs: {x: "float32[8,3,224,224]"}
    budget: {allocated: 64MiB}
YAML
echo 'def mobilenet(): ...' >zoo.py
# As memshim export writes it: what the artifact was made from.
sum() { if command -v sha256sum >/dev/null; then sha256sum "$1"; else shasum -a 256 "$1"; fi | cut -d' ' -f1; }
cat >model.pt.inputs.json <<JSON
{"inputs": ["x=float32[8,3,224,224]"], "made": {"files": [{"path": "zoo.py", "sha256": "$(sum zoo.py)"}],
 "command": ["python", "-m", "memshim", "export", "memspec.yaml"]}}
JSON
git add .
git commit -qm 'within the budget'

sed -i.bak 's/64MiB/16MiB/' memspec.yaml
git add memspec.yaml
if git commit -qm 'over the budget' >refused.txt 2>&1; then
	echo "the hook let a broken budget through" >&2
	exit 1
fi
cat refused.txt
grep -q '^FAIL mobilenet on t4, eager: peak allocated' refused.txt
git checkout -q HEAD -- memspec.yaml

# The model grows, and the artifact is the old one's.
echo 'def mobilenet(): grown' >zoo.py
git add zoo.py
if git commit -qm 'a stale artifact' >stale.txt 2>&1; then
	echo "the hook let a stale artifact through" >&2
	exit 1
fi
cat stale.txt
tr '\n' ' ' <stale.txt | tr -s ' ' | grep -q 'zoo.py has changed since the artifact was made; to make it again: python -m memshim export memspec.yaml'
git checkout -q HEAD -- zoo.py

# The pre-merge workflow runs the same command on what is committed.
sed -n 's/^ *- run: \(memspec .*\)/\1/p' "$here/pre-merge.yml" >commands.sh
test -s commands.sh
sh -eu commands.sh

# And as another repository names the hook, where pre-commit is installed (pip install pre-commit): it builds memspec by itself.
if command -v pre-commit >/dev/null; then
	sed -i.bak 's/64MiB/16MiB/' memspec.yaml
	if pre-commit try-repo "$here/../.." memspec --all-files >hook.txt 2>&1; then
		echo "the hook of .pre-commit-hooks.yaml let a broken budget through" >&2
		exit 1
	fi
	cat hook.txt
	grep -q '^FAIL mobilenet on t4, eager: peak allocated' hook.txt
	sed -i.bak 's/16MiB/64MiB/' memspec.yaml
	pre-commit try-repo "$here/../.." memspec --all-files
fi
