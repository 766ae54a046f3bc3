#!/usr/bin/env bash
# Makes what a release has, in the folder dist: for every platform an archive (program, manual
# page, completions, licences) and a wheel, a bill of materials, a container file, and SHA256SUMS.
# The same commit gives the same bytes. `make release`.
set -euo pipefail
umask 022 # modes are in the archives
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# Of each platform: Go's system and architecture, and the tag of its wheel.
platforms='
linux amd64 manylinux2014_x86_64.musllinux_1_1_x86_64
linux arm64 manylinux2014_aarch64.musllinux_1_1_aarch64
darwin amd64 macosx_12_0_x86_64
darwin arm64 macosx_12_0_arm64'
builder=hatchling==1.33.0 # a wheel names what built it
sbom=github.com/CycloneDX/cyclonedx-gomod/cmd/cyclonedx-gomod@v1.9.0

version=${VERSION:-$(git describe --tags --match 'v[0-9]*' --always --dirty)}
python_version=$(sed -n 's/^__version__ = "\(.*\)"/\1/p' python/sfstat/__init__.py)
case $version in
v[0-9]*.[0-9]*.[0-9]*-* | *-dirty | [!v]*) echo "not a release: $version is no tag vX.Y.Z of a clean tree; what is made here is for trying out" >&2 ;;
"v$python_version") ;;
*)
	echo "the tag is $version, and python/sfstat/__init__.py says $python_version: make them one" >&2
	exit 1
	;;
esac

out=$PWD/dist
rm -rf "$out"
mkdir -p "$out" bin
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
export SOURCE_DATE_EPOCH
flags=(-trimpath -buildvcs=false -tags nethttpomithttp2,urfave_cli_no_docs -gcflags=all=-dwarf=false)

echo "$builder" >bin/constraints.txt
export PIP_CONSTRAINT=$PWD/bin/constraints.txt PIP_BUILD_CONSTRAINT=$PWD/bin/constraints.txt # before pip 25.3; from there on

make --no-print-directory build man GO="${GO:-go}" VERSION="$version" >&2
while read -r system architecture tag; do
	[ -n "$system" ] || continue
	name=sfstat-$version-$system-$architecture
	folder=$out/$name
	mkdir -p "$folder/completions"
	CGO_ENABLED=0 GOOS=$system GOARCH=$architecture ${GO:-go} build "${flags[@]}" -ldflags "-s -w -X main.version=$version" -o "$folder/sfstat" ./cmd/sfstat
	cp LICENSE README.md bin/sfstat.1 bin/THIRD_PARTY_LICENSES.txt "$folder"
	for shell in bash zsh fish; do bin/sfstat completion $shell >"$folder/completions/sfstat.$shell"; done
	SFSTAT_PROGRAM=$folder/sfstat SFSTAT_PLATFORM=$tag ${PYTHON:-python3} -m pip wheel --quiet --no-deps -w "$out" ./python
	tar -C "$out" --sort=name --mtime="@$SOURCE_DATE_EPOCH" --owner=0 --group=0 --numeric-owner --mode=u=rwX,go=rX -cf - "$name" | gzip -n9 >"$folder.tar.gz"
	rm -r "$folder"
done <<<"$platforms"
CGO_ENABLED=0 ${GO:-go} run "$sbom" app -json -noserial -std -main cmd/sfstat -output "$out/sfstat-$version.cdx.json" .
sed -i "0,/\"timestamp\"/s/\"timestamp\": \"[^\"]*\"/\"timestamp\": \"$(date -u -d "@$SOURCE_DATE_EPOCH" +%FT%TZ)\"/" "$out/sfstat-$version.cdx.json"
cp packaging/Containerfile "$out"
(cd "$out" && sha256sum -- * >SHA256SUMS)
ls -l "$out"
