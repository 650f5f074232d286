#!/usr/bin/env bash
# The backend is linked with the libraries of nvcc's toolkit, also if nvcc is found through a symbolic link: a
# build is configured with an nvcc that does nothing and empty libraries. Usage: test_toolkit.sh SOURCES
set -euo pipefail
sources=$1
folder=$(realpath "$(mktemp -d)")
trap 'rm -rf "$folder"' EXIT
mkdir -p "$folder"/{toolkit/{bin,lib64,include},elsewhere/bin}
printf '#!/bin/sh\n' >"$folder/toolkit/bin/nvcc"
chmod +x "$folder/toolkit/bin/nvcc"
ln -s ../../toolkit/bin/nvcc "$folder/elsewhere/bin/nvcc"
for name in cudart cublas cublasLt cusolver; do
    ${CC:-cc} -shared -x c /dev/null -o "$folder/toolkit/lib64/lib$name.so"
done
PATH=$folder/elsewhere/bin:$PATH meson setup "$folder/build" "$sources" -Dcuda=enabled -Dtests=false >"$folder/said" || { cat "$folder/said"; exit 1; }
if grep -n "$folder/elsewhere/\(lib\|include\)" "$folder/build/build.ninja"; then
    echo "the lines above name folders beside the link"
    exit 1
fi
for part in "-rpath,$folder/toolkit/lib64" "-isystem$folder/toolkit/include" "$folder/toolkit/lib64/libcudart.so"; do
    grep -qF -e "$part" "$folder/build/build.ninja" || { echo "no $part in build.ninja"; exit 1; }
done
echo "an nvcc behind a link: 3 parts of build.ninja found, 2 absent"
