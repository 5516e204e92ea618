#!/bin/sh
# build.sh SOURCE WORK PYTHON NODE NPM: builds the console into WORK/dist and touches WORK/built.
# Packages that cannot be fetched are no failure of the build: the programs work without their console.
set -eu
source=$1 work=$2 python=$3 node=$4 npm=$5
mkdir -p "$work"
cd "$work"

major=$("$node" -p 'process.versions.node.split(".")[0]')
if [ "$major" -lt 18 ]; then
    echo "console: NOT built, node 18 or newer is needed, this is $("$node" --version)" >&2
    exit 0
fi

cp "$source/package.json" "$source/package-lock.json" .
if ! cmp -s package-lock.json installed-lock.json; then
    rm -rf node_modules
    if ! "$npm" ci --prefer-offline --ignore-scripts --no-audit --no-fund --loglevel=error >npm.log 2>&1; then
        cat npm.log >&2
        echo "console: NOT built, npm could not fetch its packages" >&2
        exit 0
    fi
    cp package-lock.json installed-lock.json
fi

rm -rf src public dist built
cp -R "$source/src" "$source/public" "$source/index.html" "$source/tsconfig.json" "$source/vite.config.ts" .
"$python" "$source/../schema/openapi/bundle.py" --planned openapi.json
"$node" node_modules/openapi-typescript/bin/cli.js openapi.json -o src/api/schema.d.ts >types.log 2>&1 || { cat types.log >&2; exit 1; }
# Vite drops types unread; group web of tests/run has tsc judge them.
"$node" node_modules/vite/bin/vite.js build --logLevel warn
touch built
