#!/usr/bin/env bash
# Makes what a release has, in the folder dist: for every platform an archive (program, manual
# page, completions, licences) and a wheel, a bill of materials, a container file, and SHA256SUMS.
# The same commit gives the same bytes, with the same C compiler those with NVML too. `make release`.
set -euo pipefail
umask 022 # modes are in the archives
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# Of each platform: Go's system and architecture, the tag of its wheel, and the C compiler of a program that reads GPUs by
# NVML; static: it needs none, and runs with any C library. pip takes the first of two that its system can run.
platforms='
linux amd64 glibc_x86_64 x86_64-linux-gnu-gcc
linux arm64 glibc_aarch64 aarch64-linux-gnu-gcc
linux amd64 manylinux2014_x86_64.musllinux_1_1_x86_64 static
linux arm64 manylinux2014_aarch64.musllinux_1_1_aarch64 static
darwin amd64 macosx_12_0_x86_64 static
darwin arm64 macosx_12_0_arm64 static'
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
flags=(-trimpath -buildvcs=false -tags nvml,nethttpomithttp2,urfave_cli_no_docs,netgo,osusergo -gcflags=all=-dwarf=false)
lines=-Wl,-z,lazy,--build-id=none # functions of NVML are found when they are called, for its library is loaded then
export CGO_CFLAGS='-O1 -g0 -Wno-deprecated-declarations'

# glibc_of prints the tag of the oldest glibc that has the functions that a program needs.
glibc_of() {
	readelf --dyn-syms --wide "$1" | grep -o 'GLIBC_[0-9.]*' | sort -uV | tail -n 1 | sed 's/GLIBC_/manylinux_/; s/\./_/g'
}

echo "$builder" >bin/constraints.txt
export PIP_CONSTRAINT=$PWD/bin/constraints.txt PIP_BUILD_CONSTRAINT=$PWD/bin/constraints.txt # before pip 25.3; from there on

make --no-print-directory build man GO="${GO:-go}" VERSION="$version" >&2
while read -r system architecture tag compiler; do
	[ -n "$system" ] || continue
	name=sfstat-$version-$system-$architecture
	cgo=0
	if [ "$compiler" != static ]; then
		if ! command -v "$compiler" >/dev/null; then
			echo "NOT MADE: sfstat for $system $architecture that reads GPUs by NVML: there is no $compiler; the static one reads them by nvidia-smi" >&2
			continue
		fi
		name=$name-nvml cgo=1
	fi
	folder=$out/$name
	mkdir -p "$folder/completions"
	CC=$compiler CGO_ENABLED=$cgo GOOS=$system GOARCH=$architecture ${GO:-go} build "${flags[@]}" \
		-ldflags "-s -w -X main.version=$version -extldflags=$lines" -o "$folder/sfstat" ./cmd/sfstat
	case $tag in glibc_*) tag=$(glibc_of "$folder/sfstat")_${tag#glibc_} ;; esac
	cp LICENSE README.md bin/sfstat.1 bin/THIRD_PARTY_LICENSES.txt "$folder"
	for shell in bash zsh fish; do bin/sfstat completion $shell >"$folder/completions/sfstat.$shell"; done
	SFSTAT_PROGRAM=$folder/sfstat SFSTAT_PLATFORM=$tag ${PYTHON:-python3} -m pip wheel --quiet --no-deps -w "$out" ./python
	tar -C "$out" --sort=name --mtime="@$SOURCE_DATE_EPOCH" --owner=0 --group=0 --numeric-owner --mode=u=rwX,go=rX -cf - "$name" | gzip -n9 >"$folder.tar.gz"
	rm -r "$folder"
done <<<"$platforms"
GOBIN=$PWD/bin CGO_ENABLED=0 ${GO:-go} install "$sbom"
CGO_ENABLED=1 GOFLAGS=-tags=nvml bin/cyclonedx-gomod app -json -noserial -std -main cmd/sfstat -output "$out/sfstat-$version.cdx.json" .
sed -i "0,/\"timestamp\"/s/\"timestamp\": \"[^\"]*\"/\"timestamp\": \"$(date -u -d "@$SOURCE_DATE_EPOCH" +%FT%TZ)\"/" "$out/sfstat-$version.cdx.json"
cp packaging/Containerfile "$out"
(cd "$out" && sha256sum -- * >SHA256SUMS)
ls -l "$out"
